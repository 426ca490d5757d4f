//! Whether a check may be run. It runs as root, so nobody else may be able to change it or to put another in its place.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Write for the group, and for others.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;
/// In a folder with this bit nobody renames or removes what is root's, as in /tmp.
const STICKY: u32 = 0o1000;

/// Why a check is not to be run; nothing when root alone can change its file, what it links to, and the folders on the way.
#[must_use]
pub fn fault(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => return Some(format!("not run: {}: {error}", path.display())),
    };
    // Who may add a name to the folder of the checks can have any program of root's run, sticky or not.
    let named = [&real, folder]
        .into_iter()
        .find_map(|place| judge(place, 0));
    let mut way = folder.ancestors().chain(real.ancestors());
    named.or_else(|| way.find_map(|place| judge(place, STICKY)))
}

/// What speaks against a place, unless its mode has one of these bits.
fn judge(place: &Path, excuse: u32) -> Option<String> {
    let shown = place.display();
    let facts = match fs::metadata(place) {
        Ok(facts) => facts,
        Err(error) => return Some(format!("not run: {shown}: {error}")),
    };
    let (mode, owner, group) = (facts.mode() & 0o7777, facts.uid(), facts.gid());
    let accepted = is_ours(owner) && (mode & excuse != 0 || !others_write(&facts));
    (!accepted).then(|| {
        format!("not run as root: {shown} is of user {owner} and group {group}, mode {mode:04o}; accepted is root's, with no write for others")
    })
}

/// Tests run as whoever runs them.
fn is_ours(owner: u32) -> bool {
    owner == 0 || owner == nix::unistd::geteuid().as_raw()
}

/// Root's own group is as good as root: images are built with a umask of 002 too.
fn others_write(facts: &Metadata) -> bool {
    let of_group = if facts.gid() == 0 { 0 } else { GROUP };
    facts.mode() & (OTHERS | of_group) != 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::PathBuf;

    use super::*;

    /// `checks/net`, in a folder that goes when it is dropped.
    fn check() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("checks");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("net"), "").unwrap();
        set(&folder, 0o755);
        set(&folder.join("net"), 0o755);
        (top, folder.join("net"))
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_root_alone_can_change_is_run() {
        let (_top, net) = check();
        assert_eq!(fault(&net), None);
    }

    #[test]
    fn a_check_that_others_may_write_is_named_with_its_mode() {
        let (_top, net) = check();
        set(&net, 0o757);
        let why = fault(&net).unwrap();
        assert!(why.contains("checks/net ") && why.contains("0757"), "{why}");
    }

    #[test]
    fn a_folder_that_others_may_write_is_named_and_stickiness_does_not_help_where_the_checks_are() {
        for mode in [0o757, 0o1777] {
            let (_top, net) = check();
            set(net.parent().unwrap(), mode);
            assert!(fault(&net).unwrap().contains("checks "), "{mode:o}");
        }
    }

    #[test]
    fn a_folder_further_up_in_which_others_may_rename_is_named() {
        let (top, net) = check();
        set(top.path(), 0o757);
        assert!(fault(&net).is_some());
        set(top.path(), 0o1777);
        assert_eq!(fault(&net), None, "as in /tmp");
    }

    #[test]
    fn a_link_is_as_good_as_what_it_leads_to_and_where_that_lies() {
        let ((_top, net), (elsewhere, theirs)) = (check(), check());
        fs::remove_file(&net).unwrap();
        symlink(&theirs, &net).unwrap();
        assert_eq!(fault(&net), None);
        set(elsewhere.path(), 0o757);
        assert!(fault(&net).is_some());
        set(elsewhere.path(), 0o755);
        set(&theirs, 0o757);
        assert!(fault(&net).is_some());
    }

    #[test]
    fn another_users_check_is_none_and_roots_own_group_is_root() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("not checked: who is not root can give nothing away");
            return;
        }
        let (_top, net) = check();
        set(&net, 0o775);
        chown(&net, Some(0), Some(0)).unwrap();
        assert_eq!(fault(&net), None);
        chown(&net, Some(0), Some(1)).unwrap();
        assert!(fault(&net).unwrap().contains("group 1"));
        chown(&net, Some(1), Some(0)).unwrap();
        assert!(fault(&net).unwrap().contains("user 1"));
    }
}
