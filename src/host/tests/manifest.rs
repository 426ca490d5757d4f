//! Critical files and /etc: every change is noticed.

#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs::{self, File};

use disk::{Disk, deployment};
use host::manifest::{FileDigest, Manifest, Which, boot_checksum, check_kernel};
use host::{Places, etc, verity};

fn with_files(disk: &Disk) -> Manifest {
    let one = deployment('a', 0);
    let root = disk.root(&one);
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    fs::write(root.join("usr/bin/kubelet"), "kubelet").unwrap();
    fs::write(root.join("usr/bin/systemd"), "systemd").unwrap();
    let file = |path, boot| FileDigest::of(&root, path, boot).unwrap();
    let files = vec![
        file("usr/bin/systemd", true),
        file("usr/bin/kubelet", false),
    ];
    Manifest {
        format: 1,
        commit: one.digest,
        bootcsum: one.bootcsum,
        files,
    }
}

#[test]
fn it_comes_back_as_it_was_written() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let manifest = with_files(&disk);
    manifest.write(&disk.places).unwrap();
    assert_eq!(
        Manifest::read(&disk.places, &manifest.commit).unwrap(),
        manifest
    );
    assert!(
        Manifest::read(&disk.places, &deployment('b', 0).digest)
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
        disk.places.manifest(&deployment('a', 0).digest),
        disk.places.manifest(&other),
    )
    .unwrap();
    assert!(Manifest::read(&disk.places, &other).is_err());
}

#[test]
fn the_initramfs_checks_what_boots_and_the_rest_is_checked_later() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let (manifest, root) = (with_files(&disk), disk.root(&deployment('a', 0)));
    fs::write(root.join("usr/bin/kubelet"), "kubelot").unwrap();
    assert_eq!(manifest.check(&root, Which::Boot), Ok(()));
    assert!(
        manifest
            .check(&root, Which::Rest)
            .unwrap_err()
            .contains("/usr/bin/kubelet")
    );
    fs::write(root.join("usr/bin/systemd"), "longer than before").unwrap();
    assert!(
        manifest
            .check(&root, Which::Boot)
            .unwrap_err()
            .contains("18 bytes instead of 7")
    );
    fs::remove_file(root.join("usr/bin/systemd")).unwrap();
    assert!(
        manifest
            .check(&root, Which::Boot)
            .unwrap_err()
            .contains("/usr/bin/systemd")
    );
}

#[test]
fn a_file_that_is_not_the_one_that_was_sealed_does_not_pass_whatever_it_holds() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let (mut manifest, root) = (with_files(&disk), disk.root(&deployment('a', 0)));
    manifest.files[0].verity = Some("00".repeat(32));
    manifest.files[0].sha256 = None;
    let flaw = manifest.check(&root, Which::Boot).unwrap_err();
    assert!(
        flaw.contains("/usr/bin/systemd: it is not the file that was sealed"),
        "{flaw}"
    );
}

/// A list of the time when a sealed file was hashed too.
#[test]
fn where_the_seal_is_gone_the_content_is_read_if_it_was_hashed_once() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let (mut manifest, root) = (with_files(&disk), disk.root(&deployment('a', 0)));
    manifest.files[0].verity = Some("00".repeat(32));
    assert_eq!(manifest.check(&root, Which::Boot), Ok(()));
    fs::write(root.join("usr/bin/systemd"), "systemt").unwrap();
    assert!(manifest.check(&root, Which::Boot).is_err());
}

#[test]
fn a_sealed_file_is_known_by_its_digest_where_the_file_system_can() {
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
        let known = FileDigest::of(disk.folder.path(), "sealed", true).unwrap();
        assert_eq!(
            (known.sha256, known.verity),
            (None, Some(digest)),
            "it is not read"
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
    assert_eq!(boot_checksum(&copy).unwrap(), one.bootcsum);
    assert_eq!(
        check_kernel(&disk.places, &disk.root(&one), "debian", &one.bootcsum),
        Ok(())
    );
    fs::write(copy.join("initramfs.img"), "torn").unwrap();
    assert!(check_kernel(&disk.places, &disk.root(&one), "debian", &one.bootcsum).is_err());
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
