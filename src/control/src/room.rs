//! The free room where an upgrade would write.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use upgrade::control_plane::{Place, Use};

use crate::folder::Folder;

/// Where kubeadm writes its copies.
const COPIES: &str = "/etc/kubernetes";

/// Where a snapshot of etcd would be; the first of these folders that exists.
const SNAPSHOT: [&str; 3] = ["/var/lib/careen", "/var/lib", "/var"];

/// The file systems that an upgrade writes to, or why they cannot be judged.
pub(crate) fn places(folder: &Folder) -> Result<Vec<Place>, String> {
    let snapshot = SNAPSHOT.into_iter().find(|path| folder.path(path).exists());
    let copies = place(folder, COPIES, Use::Copies)?;
    let Some(snapshot) = snapshot else {
        return Ok(vec![copies]);
    };
    if device(&folder.path(COPIES)) == device(&folder.path(snapshot)) {
        return Ok(vec![Place {
            r#use: Use::Both,
            ..copies
        }]);
    }
    Ok(vec![copies, place(folder, snapshot, Use::Snapshot)?])
}

fn place(folder: &Folder, path: &str, r#use: Use) -> Result<Place, String> {
    let free = host::room::free(&folder.path(path));
    let free_bytes = free.map_err(|error| error.to_string())?;
    Ok(Place {
        path: path.into(),
        r#use,
        free_bytes,
    })
}

fn device(path: &PathBuf) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.dev())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_file_system_has_room_for_both() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        assert!(places(&folder).is_err(), "nothing is there");
        fs::create_dir_all(folder.path(COPIES)).unwrap();
        assert_eq!(places(&folder).unwrap()[0].r#use, Use::Copies);
        fs::create_dir_all(folder.path("/var/lib")).unwrap();
        let found = places(&folder).unwrap();
        assert_eq!((found.len(), found[0].r#use), (1, Use::Both));
        assert!(found[0].free_bytes > 0);
    }
}
