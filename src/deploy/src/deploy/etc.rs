//! The merge of /etc, seen from outside: whether /etc has changed since, and whether it can be
//! merged at all. libostree reports neither: a conflict is only text in an error, after the
//! checkout.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use host::Places;
use ostree_ext::ostree;
use upgrade::Reason;
use upgrade::id::Digest;

use crate::site::Site;
use crate::verify::image::Tree;

/// The fingerprint of /etc. Call it before libostree merges: a change during the merge then makes
/// the deployment stale instead of silently old.
///
/// # Errors
/// /etc cannot be read.
pub fn fingerprint(site: &Site, current: &ostree::Deployment) -> Result<String, Reason> {
    host::etc::fingerprint(&site.folder(current).join("etc")).map_err(|error| site.broken(error))
}

/// Notes the /etc with which the commit's deployment was made, so that a later run can detect a
/// change.
///
/// # Errors
/// The note is not on the disk.
pub fn note(site: &Site, commit: &Digest, fingerprint: &str) -> Result<(), Reason> {
    host::etc::note(&Places::physical(&site.path), commit, fingerprint)
        .map_err(|error| site.broken(error))
}

/// Finds what libostree's merge would refuse: a changed file where the new image has a folder, a
/// file in a folder that is a file in the new image, and a changed entry that is neither file, link
/// nor folder (ostree-sysroot-deploy.c, `copy_modified_config_file` and
/// `ensure_directory_from_template`).
///
/// # Errors
/// [`Reason::EtcMerge`], naming the file.
pub fn check(site: &Site, current: &Path, image: &Tree) -> Result<(), Reason> {
    let (ours, defaults) = (current.join("etc"), current.join("usr/etc"));
    let mut conflict = None;
    let walked = walk(&ours, &mut |path, facts| {
        let relative = path.strip_prefix(&ours).unwrap_or(path);
        if conflict.is_none() && !facts.is_dir() && changed(path, facts, &defaults.join(relative)) {
            conflict = kind_of_its_own(relative, facts)
                .or_else(|| lost_folder(relative, &defaults, image))
                .or_else(|| new_folder(relative, image));
        }
        Ok(())
    });
    walked.map_err(|error| site.broken(format!("reading /etc: {error}")))?;
    conflict.map_or(Ok(()), |detail| Err(Reason::EtcMerge { detail }))
}

fn kind_of_its_own(relative: &Path, facts: &Metadata) -> Option<String> {
    let kind = facts.file_type();
    let odd = kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device();
    odd.then(|| {
        format!(
            "/etc/{} is not a file, link or folder; remove it and ask again",
            relative.display()
        )
    })
}

/// A folder that is no folder in the running image is copied as a whole, in place of whatever the
/// new image has there. A link to a folder is followed. Neither is a conflict.
fn lost_folder(relative: &Path, defaults: &Path, image: &Tree) -> Option<String> {
    let folders: Vec<_> = relative.ancestors().skip(1).collect();
    let mut from_the_image = folders.into_iter().rev().take_while(|folder| {
        let before = defaults.join(folder).symlink_metadata();
        before.is_ok_and(|facts| facts.is_dir())
    });
    let is_a_file = |folder: &&Path| image.has_file(&format!("usr/etc/{}", folder.display()));
    let (name, lost) = (relative.display(), from_the_image.find(is_a_file)?);
    let lost = lost.display();
    Some(format!(
        "/etc/{name} was changed on this node, and /etc/{lost} is a file in the new image; move it away and ask again"
    ))
}

fn new_folder(relative: &Path, image: &Tree) -> Option<String> {
    let name = relative.display();
    image.has_folder(&format!("usr/etc/{name}")).then(|| {
        format!("/etc/{name} was changed on this node and is a folder in the new image; move it away and ask again")
    })
}

/// The files and links of /etc that were changed or added on the node, by their paths below /etc.
///
/// # Errors
/// /etc cannot be read.
pub fn own(site: &Site, current: &Path) -> Result<Vec<PathBuf>, Reason> {
    let (ours, defaults) = (current.join("etc"), current.join("usr/etc"));
    let mut own = Vec::new();
    let walked = walk(&ours, &mut |path, facts| {
        let relative = path.strip_prefix(&ours).unwrap_or(path);
        if !facts.is_dir() && changed(path, facts, &defaults.join(relative)) {
            own.push(relative.to_owned());
        }
        Ok(())
    });
    walked.map_err(|error| site.broken(format!("reading /etc: {error}")))?;
    Ok(own)
}

/// Whether an entry of /etc differs from the default it came with.
fn changed(path: &Path, facts: &Metadata, default: &Path) -> bool {
    let Ok(before) = default.symlink_metadata() else {
        return true;
    };
    let key = |facts: &Metadata| (facts.mode(), facts.uid(), facts.gid(), facts.size());
    if key(facts) != key(&before) {
        return true;
    }
    if facts.is_symlink() {
        return fs::read_link(path).ok() != fs::read_link(default).ok();
    }
    !facts.is_file() || fs::read(path).ok() != fs::read(default).ok()
}

/// Visits everything below a folder in the order of names. Skips what vanishes meanwhile.
pub fn walk(
    folder: &Path,
    visit: &mut dyn FnMut(&Path, &Metadata) -> io::Result<()>,
) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(facts) = path.symlink_metadata() else {
            continue;
        };
        visit(&path, &facts)?;
        if facts.is_dir() {
            walk(&path, visit)?;
        }
    }
    Ok(())
}
