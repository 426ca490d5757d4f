//! Puts a new text in place of a file, which keeps its owner, mode and attributes.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

/// Replaces the file in one step. After a power cut either text is there, whole.
///
/// # Errors
/// The text is not on the disk, or an attribute cannot be copied.
pub fn instead(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let facts = path.symlink_metadata()?;
    // Its name begins with a dot and is readable by root alone until it has the file's mode.
    let mut new = tempfile::Builder::new()
        .prefix(".careen-")
        .tempfile_in(folder)?;
    new.write_all(text.as_bytes())?;
    let file = new.as_file();
    fchown(file, Some(facts.uid()), Some(facts.gid()))?;
    for name in xattr::list(path)? {
        if let Some(value) = xattr::get(path, &name)? {
            xattr::set(new.path(), &name, &value)?;
        }
    }
    file.set_permissions(facts.permissions())?;
    file.sync_all()?;
    new.persist(path)?;
    File::open(folder)?.sync_all()
}
