//! The snapshots of etcd on this node. `careen-control` writes them; here nobody opens one.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use upgrade::control_plane::{Kept, oldest_kept};
use upgrade::names;

/// How the name of a complete snapshot ends: it has this name only after it was verified.
pub const COMPLETE: &str = ".db";

/// The complete snapshots in a folder. Files of other names are nobody's.
#[must_use]
pub fn kept(folder: &Path) -> Vec<Kept> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let kept = |name: String| {
        let id = name.strip_suffix(COMPLETE)?.parse().ok()?;
        let written = fs::symlink_metadata(folder.join(&name)).ok()?;
        let at = written.modified().ok()?.duration_since(UNIX_EPOCH);
        let at = at.map_or(0, |since| since.as_secs());
        written.is_file().then_some(Kept { id, at })
    };
    let names = entries.map(|entry| entry.file_name().into_string());
    names.filter_map(Result::ok).filter_map(kept).collect()
}

/// When the oldest snapshot was written that stays if so many do, in seconds since 1970.
#[must_use]
pub fn oldest(root: &Path, keep: u64) -> Option<u64> {
    let folder = root.join(names::ETCD_SNAPSHOTS.trim_start_matches('/'));
    oldest_kept(kept(&folder), usize::try_from(keep).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_complete_snapshots_count() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(oldest(root.path(), 2), None, "there is no folder");
        let folder = root
            .path()
            .join(names::ETCD_SNAPSHOTS.trim_start_matches('/'));
        fs::create_dir_all(folder.join("folder.db")).unwrap();
        for (name, at) in [
            ("u1.db", 100),
            ("u2.db", 200),
            ("u3.db", 300),
            ("u4.db.part", 10),
            ("u3.json", 20),
            ("no id.db", 30),
        ] {
            let file = File::create(folder.join(name)).unwrap();
            let at = UNIX_EPOCH + Duration::from_secs(at);
            file.set_modified(at).unwrap();
        }
        assert_eq!(kept(&folder).len(), 3);
        assert_eq!(oldest(root.path(), 2), Some(200));
        assert_eq!(oldest(root.path(), 20), Some(100));
    }
}
