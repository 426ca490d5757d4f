//! Critical files and /etc: every change is detected.

#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs::{self, File};

use disk::{Disk, critical, deployment};
use host::critical::{CriticalFiles, Which};
use host::{Places, etc, kernel, verity};

fn with_files(disk: &Disk) -> CriticalFiles {
    let one = deployment('a', 0);
    let root = disk.root(&one);
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    fs::write(root.join("usr/bin/kubelet"), "kubelet").unwrap();
    fs::write(root.join("usr/bin/systemd"), "systemd").unwrap();
    let files = vec![
        critical(&root, "usr/bin/systemd", true),
        critical(&root, "usr/bin/kubelet", false),
    ];
    CriticalFiles {
        format: 1,
        commit: one.digest,
        bootcsum: one.bootcsum,
        files,
    }
}

#[test]
fn it_comes_back_as_it_was_written() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let list = with_files(&disk);
    list.write(&disk.places).unwrap();
    assert_eq!(
        CriticalFiles::read(&disk.places, &list.commit).unwrap(),
        list
    );
    assert!(
        CriticalFiles::read(&disk.places, &deployment('b', 0).digest)
            .unwrap_err()
            .is_absent()
    );
}

#[test]
fn another_commits_manifest_is_refused() {
    let disk = Disk::new(&[deployment('a', 0)]);
    with_files(&disk).write(&disk.places).unwrap();
    let other = deployment('b', 0).digest;
    fs::rename(
        disk.places.critical_files(&deployment('a', 0).digest),
        disk.places.critical_files(&other),
    )
    .unwrap();
    assert!(CriticalFiles::read(&disk.places, &other).is_err());
}

#[test]
fn boot_check_covers_boot_files_and_rest_check_covers_the_rest() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let (list, root) = (with_files(&disk), disk.root(&deployment('a', 0)));
    fs::write(root.join("usr/bin/kubelet"), "kubelot").unwrap();
    assert_eq!(list.check(&root, Which::Boot), Ok(()));
    assert!(
        list.check(&root, Which::Rest)
            .unwrap_err()
            .contains("/usr/bin/kubelet")
    );
    fs::write(root.join("usr/bin/systemd"), "longer than before").unwrap();
    assert!(
        list.check(&root, Which::Boot)
            .unwrap_err()
            .contains("18 bytes instead of 7")
    );
    fs::remove_file(root.join("usr/bin/systemd")).unwrap();
    assert!(
        list.check(&root, Which::Boot)
            .unwrap_err()
            .contains("/usr/bin/systemd")
    );
}

#[test]
fn where_the_seal_is_gone_the_content_is_read() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let (mut list, root) = (with_files(&disk), disk.root(&deployment('a', 0)));
    list.files[0].verity = Some("00".repeat(32));
    assert_eq!(list.check(&root, Which::Boot), Ok(()));
    fs::write(root.join("usr/bin/systemd"), "systemt").unwrap();
    assert!(list.check(&root, Which::Boot).is_err());
}

#[test]
fn sealed_file_is_verified_by_its_fsverity_digest() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let path = disk.folder.path().join("sealed");
    fs::write(&path, "content").unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(verity::measure(&file), None);
    if verity::seal(&file).is_ok() {
        // fsverity-utils, `fsverity digest` of a file with this content.
        let digest = verity::measure(&file).unwrap();
        assert_eq!(digest.len(), 64);
        verity::seal(&file).unwrap();
        assert_eq!(verity::measure(&file), Some(digest.clone()));
        let mut known = critical(disk.folder.path(), "sealed", true);
        known.object = deployment('a', 0).digest;
        let sealed = known.as_sealed_in(disk.folder.path());
        assert_eq!(sealed.verity, Some(digest));
        let list = CriticalFiles {
            files: vec![sealed],
            ..with_files(&disk)
        };
        let read = "it is not read";
        assert_eq!(
            list.check(disk.folder.path(), Which::Boot),
            Ok(()),
            "{read}"
        );
    }
}

#[test]
fn the_kernels_checksum_is_libostrees() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let one = deployment('a', 0);
    let copy = disk
        .places
        .boot
        .join(format!("ostree/debian-{}", one.bootcsum));
    assert_eq!(kernel::checksum(&copy).unwrap(), one.bootcsum);
    assert_eq!(
        kernel::check(&disk.places, &disk.root(&one), "debian", &one.bootcsum),
        Ok(())
    );
    fs::write(copy.join("initramfs.img"), "torn").unwrap();
    assert!(kernel::check(&disk.places, &disk.root(&one), "debian", &one.bootcsum).is_err());
}

#[test]
fn what_changed_last_in_etc_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::running(folder.path());
    let booted = deployment('b', 0);
    let net = places.deployment(&booted).join("etc/cni/net.d");
    fs::create_dir_all(&net).unwrap();
    fs::write(net.join("zz.conf"), "old").unwrap();
    // The file system's clock ticks a few hundred times a second.
    let named = (0..1_000_000).any(|number| {
        fs::write(net.join("00-multus.conf"), number.to_string()).unwrap();
        etc::newest(&places, &booted).as_deref() == Some("/etc/cni/net.d/00-multus.conf")
    });
    assert!(named);
}

#[test]
fn every_change_of_etc_is_noticed_and_reading_it_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::running(folder.path());
    let booted = deployment('b', 0);
    let tree = places.deployment(&booted);
    let file = tree.join("etc/kubernetes/kubelet.conf");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "old").unwrap();
    let commit = deployment('a', 0).digest;
    assert!(
        etc::has_changed(&places, &booted, &commit).unwrap(),
        "nothing was noted"
    );
    let note = || {
        let now = etc::fingerprint(&tree.join("etc")).unwrap();
        etc::note(&places, &commit, &now).unwrap();
    };
    note();
    fs::read(&file).unwrap();
    assert!(!etc::has_changed(&places, &booted, &commit).unwrap());
    for change in 0..3 {
        match change {
            0 => fs::write(&file, "new").unwrap(),
            1 => fs::write(file.with_file_name("added"), "").unwrap(),
            _ => fs::remove_file(&file).unwrap(),
        }
        assert!(
            etc::has_changed(&places, &booted, &commit).unwrap(),
            "change {change}"
        );
        note();
    }
}
