//! The disk is full when the record or the kubelet's state is saved: the last complete one stays,
//! and the next attempt succeeds once there is room. Needs root to mount its own file system.
#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use disk::upgrade_id;
use host::record::{Store, StoreError};
use host::{Places, snapshot};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;
use upgrade::{Record, RecordStore};

const NONE: Option<&str> = None;

/// A small file system that only this test's thread sees.
struct Small(TempDir);

impl Small {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
        let (tmpfs, options) = (Some("tmpfs"), Some("size=256k"));
        mount(tmpfs, folder.path(), tmpfs, MsFlags::empty(), options).unwrap();
        Self(folder)
    }

    fn filler(&self) -> PathBuf {
        self.0.path().join("filler")
    }

    fn fill(&self) {
        // The program ends with an error, as intended: no byte is left.
        let target = format!("of={}", self.filler().display());
        let dd = Command::new("dd")
            .args(["if=/dev/zero", "bs=4096", &target])
            .output()
            .unwrap();
        assert!(!dd.status.success(), "there is room left");
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        umount2(self.0.path(), MntFlags::MNT_DETACH).unwrap();
    }
}

fn of_generation(generation: u64) -> Record {
    Record {
        generation,
        ..Record::default()
    }
}

#[test]
fn store_on_a_full_disk_keeps_the_previous_record() {
    let small = Small::new();
    let mut store = Store::new(small.0.path());
    (1..=2).for_each(|generation| store.store(&of_generation(generation)).unwrap());
    small.fill();
    for _ in 0..3 {
        let refused = store.store(&of_generation(3));
        assert!(matches!(refused, Err(StoreError::Disk(_))), "{refused:?}");
        assert_eq!(store.read(), Ok(of_generation(2)));
    }
    small.make_room();
    store.store(&of_generation(3)).unwrap();
    assert_eq!(store.read(), Ok(of_generation(3)));
}

#[test]
fn snapshot_on_a_full_disk_does_not_exist_until_retried() {
    let small = Small::new();
    let places = Places::running(small.0.path());
    let config = small.0.path().join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "old").unwrap();
    let id = upgrade_id("one");
    small.fill();
    assert!(snapshot::save(&places, &id).is_err());
    assert!(!snapshot::exists(&places, &id), "half of one is none");
    small.make_room();
    snapshot::save(&places, &id).unwrap();
    fs::write(&config, "new").unwrap();
    assert_eq!(snapshot::restore(&places, &id).unwrap(), 1);
    assert_eq!(fs::read_to_string(&config).unwrap(), "old");
}

#[test]
fn snapshot_on_a_full_disk_keeps_the_previous_one() {
    let small = Small::new();
    let places = Places::running(small.0.path());
    let config = small.0.path().join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "old").unwrap();
    let id = upgrade_id("one");
    snapshot::save(&places, &id).unwrap();
    small.fill();
    assert!(snapshot::save(&places, &id).is_err());
    small.make_room();
    fs::write(&config, "new").unwrap();
    assert_eq!(snapshot::restore(&places, &id).unwrap(), 1);
    assert_eq!(fs::read_to_string(&config).unwrap(), "old");
}

#[test]
fn that_a_snapshot_is_owed_is_noted_also_on_a_full_disk() {
    let small = Small::new();
    let places = Places::running(small.0.path());
    let config = small.0.path().join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "old").unwrap();
    let id = upgrade_id("one");
    snapshot::save(&places, &id).unwrap();
    small.fill();
    let owed = snapshot::Owed {
        why: "No space left on device".to_owned(),
        to: None,
    };
    // As at each boot that restores nothing: once before the restore, and once with its error.
    snapshot::owe(&places, &id, &owed).unwrap();
    snapshot::owe(&places, &id, &owed).unwrap();
    snapshot::keep_only(&places, None).unwrap();
    let noted = snapshot::owed(&places, &id).unwrap();
    assert!(
        noted.why.contains("the disk took only the note"),
        "{noted:?}"
    );
    small.make_room();
    fs::write(&config, "new").unwrap();
    assert_eq!(snapshot::restore(&places, &id).unwrap(), 1);
    snapshot::forget(&places, &id).unwrap();
    assert_eq!(snapshot::owed(&places, &id), None);
}
