//! Puts a new text in place of a file, which keeps its owner, mode, attributes and times, as in
//! libostree's own merge (libglnx, `glnx_file_copy_at`).

use std::fs::{File, FileTimes};
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
    let times = FileTimes::new().set_accessed(facts.accessed()?);
    file.set_times(times.set_modified(facts.modified()?))?;
    file.sync_all()?;
    new.persist(path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn merged_file_keeps_mode_attributes_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwd");
        fs::write(&path, "root:x:0:0::/root:/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        xattr::set(&path, "user.note", b"mine").unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5);
        let open = File::options().write(true).open(&path).unwrap();
        open.set_times(FileTimes::new().set_modified(then)).unwrap();
        let before = fs::metadata(&path).unwrap();
        instead(&path, "root:x:0:0::/root:/bin/sh\nweb:x:998:998::/:\n").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(after.modified().unwrap(), then);
        let kept = |facts: &fs::Metadata| (facts.mode(), facts.uid(), facts.gid());
        assert_eq!(kept(&after), kept(&before));
        let note = xattr::get(&path, "user.note").unwrap();
        assert_eq!(note.as_deref(), Some(b"mine".as_slice()));
    }
}
