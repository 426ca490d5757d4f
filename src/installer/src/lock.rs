//! One pod at a time works on a node: an uninstall beside an install, or two versions, would go round in circles.

use std::fs::File;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// The folder whose lock it is. A folder, so that no file is left on the node; the kernel releases it with the pod that held it.
pub const FOLDER: &str = "var/lib/careen";

/// Held until it is dropped.
pub type Lock = Flock<File>;

/// Takes the lock of the folder.
///
/// # Errors
/// Why it cannot be had, for a person.
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
