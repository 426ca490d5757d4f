//! The merge of /etc, looked at from outside: has it changed since, and can it be merged at all? libostree tells
//! neither: a conflict is but a text in an error, after the checkout.

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

/// How /etc is. To be taken before libostree merges: what changes meanwhile makes the deployment stale, not silently old.
///
/// # Errors
/// When /etc cannot be read.
pub fn fingerprint(site: &Site, current: &ostree::Deployment) -> Result<String, Reason> {
    host::etc::fingerprint(&site.folder(current).join("etc")).map_err(|error| site.broken(error))
}

/// Notes which /etc the commit's deployment was made with, for whoever asks later whether it has changed.
///
/// # Errors
/// When the note is not on the disk.
pub fn note(site: &Site, commit: &Digest, fingerprint: &str) -> Result<(), Reason> {
    host::etc::note(&Places::physical(&site.path), commit, fingerprint)
        .map_err(|error| site.broken(error))
}

/// Finds what libostree's merge would refuse: a changed file where the new image has a folder, one in a folder that is a file in
/// the new image, and a changed entry that is neither file, link nor folder (ostree-sysroot-deploy.c,
/// `copy_modified_config_file` and `ensure_directory_from_template`).
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

/// A folder that is none in the image that runs goes over whole, in the place of whatever the new image has there, and a link to a
/// folder is followed: neither is in the way.
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

/// The files and links of /etc that were changed on the node, or are its own, by their paths below /etc.
///
/// # Errors
/// When /etc cannot be read.
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

/// Visits everything below a folder in the order of names. What vanishes meanwhile is not there.
fn walk(
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
