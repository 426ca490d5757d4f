//! Lets only one pod at a time work on a node. Otherwise an uninstall next to an install, or two
//! versions, would undo each other for ever.

use std::fs::File;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// The locked folder. Locking a folder leaves no file on the node, and the kernel releases the lock
/// when the pod ends.
pub const FOLDER: &str = "var/lib/careen";

/// Held until it is dropped.
pub type Lock = Flock<File>;

/// Locks the folder.
///
/// # Errors
/// Why the lock is not available, for a person.
pub fn take(folder: &Path) -> Result<Lock, String> {
    let opened = File::open(folder);
    let opened = opened.map_err(|error| format!("opening {}: {error}", folder.display()))?;
    Flock::lock(opened, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| {
        if errno == Errno::EWOULDBLOCK {
            return "the careen-installer of another pod works on this node. Waiting until it ends"
                .to_owned();
        }
        format!("locking {}: {errno}", folder.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_pod_waits_for_the_first_and_the_lock_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path()).unwrap();
        let refused = take(folder.path()).unwrap_err();
        assert!(refused.contains("another pod"), "{refused}");
        drop(first);
        drop(take(folder.path()).unwrap());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let refused = take(Path::new("/no/such/folder")).unwrap_err();
        assert!(refused.contains("/no/such/folder"), "{refused}");
    }
}
