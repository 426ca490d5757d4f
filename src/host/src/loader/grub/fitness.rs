//! What GRUB needs so that it boots an entry just once.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use upgrade::Reason;

use super::script::Script;
use super::{env, menu, storage};
use crate::Places;
use crate::boot::deployments;
use crate::error::Result;
use crate::file_system::FileSystem;

/// Checks grubenv, the file system and the device that it is on, and the menu. `kernel` is the
/// folder that holds `sys` and `proc`.
pub(in crate::loader) fn check(places: &Places, kernel: &Path) -> std::result::Result<(), Reason> {
    check_on(places, kernel, FileSystem::of)
}

/// The same for a file system that the caller names.
///
/// # Errors
/// [`Reason::LoaderUnfit`].
pub fn check_on(
    places: &Places,
    kernel: &Path,
    file_system: impl Fn(&Path) -> Result<FileSystem>,
) -> std::result::Result<(), Reason> {
    let path = places.grubenv();
    let fit = check_block(&path)
        .and_then(|()| file_system(&path).map_err(|error| error.to_string()))
        .and_then(|found| storage::check_file_system(&path, kernel, found))
        .and_then(|()| storage::check_device(&path, kernel))
        .and_then(|()| check_menu(places));
    fit.map_err(|detail| Reason::LoaderUnfit { detail })
}

/// The menu takes the one-shot, and without one it boots the default system.
fn check_menu(places: &Places) -> std::result::Result<(), String> {
    let text = menu::configuration(places).map_err(|error| error.to_string())?;
    let script = Script::read(&text);
    if !script.honours_one_shot() {
        return Err(format!(
            "the grub.cfg in {} does not take, empty and save next_entry; accepted are those by careen-grub and grub-mkconfig",
            places.grub().display()
        ));
    }
    let installed = deployments(places).map_err(|error| error.to_string())?;
    menu::check_default(&script, &installed, places)
}

fn check_block(path: &Path) -> std::result::Result<(), String> {
    let accepted = "accepted is a plain file of 1024 bytes, as grub-editenv creates it";
    let meta = fs::symlink_metadata(path)
        .map_err(|error| format!("{}: {error}; {accepted}", path.display()))?;
    if !meta.file_type().is_file() {
        return Err(format!(
            "{} is not a plain file; {accepted}",
            path.display()
        ));
    }
    env::read(path).map_err(|error| format!("{error}; {accepted}"))?;
    if !has_blocks(meta.len(), meta.blocks()) {
        return Err(format!(
            "{} has no blocks of its own on the disk; write it again",
            path.display()
        ));
    }
    Ok(())
}

/// Whether all content is in blocks of the file, `sectors` of 512 bytes: GRUB writes no others. A
/// large inode of ext4 holds the whole file itself (inline_data).
const fn has_blocks(length: u64, sectors: u64) -> bool {
    sectors * 512 >= length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_within_its_inode_has_no_blocks_to_write() {
        assert!(!has_blocks(1024, 0));
        assert!(!has_blocks(1024, 1), "half of it");
        assert!(has_blocks(1024, 2) && has_blocks(1024, 8));
    }
}
