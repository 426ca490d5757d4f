//! The free room where an upgrade would write.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use upgrade::control_plane::{Place, Use};

use crate::folder::Folder;
use crate::manifests::Manifest;

/// Where kubeadm writes its copies.
const COPIES: &str = "/etc/kubernetes";

/// Where etcd has its data, unless a flag says otherwise.
const DATA: &str = "/var/lib/etcd";

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

/// Succeeds if there is room for one more of kubeadm's copies. Earlier runs may have taken what the
/// survey saw.
pub(crate) fn for_a_copy(folder: &Folder, etcd: Option<&Manifest>) -> Result<(), String> {
    let place = place(folder, COPIES, Use::Copies)?;
    is_enough(&place, db_bytes(folder, etcd))
}

fn is_enough(place: &Place, db_bytes: u64) -> Result<(), String> {
    match place.missing(db_bytes) {
        0 => Ok(()),
        missing => Err(format!(
            "{COPIES} has too little room for kubeadm's copy of etcd: {} MiB more are needed. Remove old copies in {COPIES}/tmp.",
            missing.div_ceil(1 << 20)
        )),
    }
}

/// The size of the database's file. An etcd that does not answer has one, too.
fn db_bytes(folder: &Folder, etcd: Option<&Manifest>) -> u64 {
    let data = etcd.and_then(|etcd| etcd.flag("--data-dir"));
    let path = format!("{}/member/snap/db", data.unwrap_or(DATA));
    std::fs::metadata(folder.path(&path)).map_or(0, |facts| facts.len())
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
    fn copy_needs_room_for_the_database_of_the_manifest() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        fs::create_dir_all(folder.path(COPIES)).unwrap();
        let etcd = |data: &str| Manifest {
            flags: vec![("--data-dir".to_owned(), data.to_owned())],
            ..Manifest::default()
        };
        assert_eq!(for_a_copy(&folder, Some(&etcd("/data"))), Ok(()));
        fs::create_dir_all(folder.path("/data/member/snap")).unwrap();
        // Sparse: no disk has a PiB of it.
        let db = fs::File::create(folder.path("/data/member/snap/db")).unwrap();
        if db.set_len(1 << 43).is_ok() {
            let why = for_a_copy(&folder, Some(&etcd("/data"))).unwrap_err();
            assert!(why.contains("MiB more are needed"), "{why}");
        }
        assert_eq!(for_a_copy(&folder, Some(&etcd("/other"))), Ok(()));
        let place = place(&folder, COPIES, Use::Copies).unwrap();
        assert!(is_enough(&place, place.free_bytes).is_err());
    }

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
