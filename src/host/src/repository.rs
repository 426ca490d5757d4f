//! The OSTree repository. It may briefly contain objects that no signature covers, including those
//! of setuid files, so only root may access it.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{At, Error, Result};

/// The repository, below the physical root.
const REPOSITORY: &str = "ostree/repo";
/// Folders in it that are also closed: a process that has one of them mounted does not pass the
/// repository's own folder.
const INSIDE: [&str; 2] = ["objects", "tmp"];
/// Permissions of the group and of others.
const OF_OTHERS: u32 = 0o077;

/// Closes the repository to everybody but root: its objects, and the files that are to become
/// objects.
///
/// # Errors
/// Others may still enter it, or may after a power cut.
pub fn close(sysroot: &Path) -> Result<()> {
    let path = sysroot.join(REPOSITORY);
    let inside = INSIDE.map(|name| path.join(name));
    for folder in inside.iter().filter(|folder| folder.is_dir()) {
        close_folder(folder)?;
    }
    close_folder(&path)
}

fn close_folder(path: &Path) -> Result<()> {
    let folder = File::open(path).at("opening", path)?;
    let mode = || folder.metadata().map(|facts| facts.permissions().mode());
    let before = mode().at("looking at", path)?;
    if before & OF_OTHERS == 0 {
        return Ok(());
    }
    let closed = Permissions::from_mode(before & !OF_OTHERS);
    folder.set_permissions(closed).at("closing", path)?;
    folder.sync_all().at("syncing", path)?;
    // A file system without permissions accepts the change and ignores it.
    match mode().at("looking at", path)? & OF_OTHERS {
        0 => Ok(()),
        _ => Err(Error::damaged(
            path,
            "users other than root may enter it, and chmod 700 does not change that",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nobody_but_root_enters_a_repository_that_was_closed() {
        let sysroot = tempfile::tempdir().unwrap();
        let repository = sysroot.path().join(REPOSITORY);
        assert!(close(sysroot.path()).is_err());
        fs::create_dir_all(&repository).unwrap();
        for mode in [0o755, 0o750, 0o701, 0o700] {
            fs::set_permissions(&repository, Permissions::from_mode(mode)).unwrap();
            close(sysroot.path()).unwrap();
            let facts = fs::metadata(&repository).unwrap();
            assert_eq!(facts.permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn objects_are_closed_to_who_has_them_mounted() {
        let sysroot = tempfile::tempdir().unwrap();
        let repository = sysroot.path().join(REPOSITORY);
        let inside = INSIDE.map(|name| repository.join(name));
        inside
            .iter()
            .for_each(|folder| fs::create_dir_all(folder).unwrap());
        close(sysroot.path()).unwrap();
        for folder in inside {
            let facts = fs::metadata(&folder).unwrap();
            assert_eq!(facts.permissions().mode() & 0o777, 0o700, "{folder:?}");
        }
    }
}
