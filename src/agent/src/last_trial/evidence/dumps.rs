//! What kdump leaves: a folder for each crash below /var/crash, with the memory of the crashed
//! kernel and its messages (Fedora, kdump-lib-initramfs.sh; Debian, kdump-config). Programs other
//! than kdump put files beside these folders, which show no panic.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where kdump writes, unless its configuration names another place.
const CRASHES: &str = "var/crash";

/// How the names of its files begin.
const NAMES: [&str; 3] = ["vmcore", "dump.", "dmesg."];

/// The most crashes that are looked at.
const MOST: usize = 256;

/// Each file of a dump by a mark that only this file has. A dump may have the size of the memory,
/// so the mark is no digest of the content.
pub(super) fn below(kernel: &Path) -> BTreeMap<String, PathBuf> {
    let crashes = children(&kernel.join(CRASHES)).into_iter();
    let crashes = crashes.filter(|path| path.is_dir() && !path.is_symlink());
    let files = crashes.take(MOST).flat_map(|crash| children(&crash));
    files
        .filter(|file| is_of_kdump(file))
        .filter_map(|file| Some((mark(&file)?, file)))
        .collect()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    // The newest crash has the last name.
    paths.sort_by(|one, other| other.cmp(one));
    paths
}

fn is_of_kdump(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    NAMES.iter().any(|begin| name.starts_with(begin)) && file.is_file()
}

fn mark(file: &Path) -> Option<String> {
    let facts = fs::symlink_metadata(file).ok()?;
    Some(format!("{} {}", file.display(), facts.mtime()))
}
