//! Boot entries, deployments and the running system, read only from the disk.
#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs;

use disk::{Disk, deployment, link};
use host::{boot, loader};
use upgrade::{OneShot, Reason};

#[test]
fn deployments_come_in_the_order_of_the_menu() {
    let pinned = upgrade::Deployment {
        pinned: true,
        ..deployment('b', 0)
    };
    let kept = upgrade::Deployment {
        kept: true,
        pinned: true,
        ..deployment('d', 0)
    };
    let all = [deployment('a', 0), pinned, deployment('c', 1), kept];
    let disk = Disk::new(&all);
    assert_eq!(boot::default_first(&disk.places).unwrap(), all);
}

/// `ostree admin pin --unpin` leaves Careen's marks, and an administrator's pin has no mark.
#[test]
fn what_careen_keeps_is_pinned_and_bears_its_mark() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let mut origin = disk.root(&deployment('a', 0)).into_os_string();
    origin.push(".origin");
    let [pin, ours] = ["[libostree-transient]\npinned=true\n", "[careen]\n"];
    for (text, pinned, kept) in [
        (format!("{pin}{ours}pinned=true\n"), true, true),
        (format!("{ours}kept = true\netc=x\n{pin}"), true, true),
        (format!("{pin}{ours}etc=x\n"), true, false),
        (pin.to_owned(), true, false),
        (format!("{ours}pinned=true\nkept=true\n"), false, false),
        (
            format!("{pin}[other]\nkept=true\n{ours}kept=false\n"),
            true,
            false,
        ),
    ] {
        fs::write(&origin, &text).unwrap();
        let found = boot::default_first(&disk.places).unwrap();
        assert_eq!((found[0].pinned, found[0].kept), (pinned, kept), "{text}");
    }
}

#[test]
fn what_runs_is_told_by_the_inode_of_its_root() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    for one in &all {
        assert_eq!(
            boot::booted(&disk.places.sysroot, &disk.root(one))
                .unwrap()
                .0,
            *one
        );
    }
    assert!(boot::booted(&disk.places.sysroot, &disk.places.sysroot).is_err());
}

#[test]
fn two_trees_of_one_kernel_are_told_apart() {
    let old = deployment('a', 0);
    let new = upgrade::Deployment {
        bootcsum: old.bootcsum.clone(),
        serial: 1,
        ..deployment('b', 1)
    };
    let disk = Disk::new(&[old.clone(), new.clone()]);
    assert_eq!(
        boot::booted(&disk.places.sysroot, &disk.root(&new))
            .unwrap()
            .0,
        new
    );
    assert_eq!(
        boot::booted(&disk.places.sysroot, &disk.root(&old))
            .unwrap()
            .0,
        old
    );
}

#[test]
fn what_runs_is_known_without_boot_in_sight() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    fs::remove_dir_all(&disk.places.boot).unwrap();
    assert_eq!(
        boot::booted(&disk.places.sysroot, &disk.root(&all[1]))
            .unwrap()
            .0,
        all[1]
    );
}

#[test]
fn arming_uses_the_menu_position_of_the_deployment() {
    let all = [deployment('a', 0), deployment('b', 0), deployment('c', 0)];
    let disk = Disk::new(&all);
    assert_eq!(disk.arm(&all[2]).unwrap(), 2);
    assert_eq!(loader::one_shot(&disk.places), OneShot::Set);
}

#[test]
fn a_deployment_that_left_the_menu_cannot_be_armed() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let error = disk.arm(&deployment('b', 0)).unwrap_err();
    assert!(
        matches!(error, host::Error::Reason(Reason::TargetVanished { .. })),
        "{error}"
    );
}

#[test]
fn a_boot_that_went_back_in_time_is_an_error_and_no_panic() {
    let all = [deployment('a', 0)];
    let disk = Disk::new(&all);
    fs::remove_file(
        disk.places
            .sysroot
            .join(link(&all[0]).trim_start_matches('/')),
    )
    .unwrap();
    assert!(boot::default_first(&disk.places).is_err());
}

#[test]
fn a_damaged_entry_names_its_file() {
    let disk = Disk::new(&[deployment('a', 0)]);
    let path = disk
        .places
        .boot
        .join("loader.1/entries/ostree-1-debian.conf");
    for bad in ["", "title x\nversion two\nlinux /x\n", "version 1\n"] {
        fs::write(&path, bad).unwrap();
        let text = boot::default_first(&disk.places).unwrap_err().to_string();
        assert!(text.contains("ostree-1-debian.conf"), "{text}");
    }
}

#[test]
fn entries_of_others_are_left_alone() {
    let all = [deployment('a', 0)];
    let disk = Disk::new(&all);
    fs::write(
        disk.places.boot.join("loader.1/entries/fedora.conf"),
        "garbage",
    )
    .unwrap();
    assert_eq!(boot::default_first(&disk.places).unwrap(), all);
}

#[test]
fn a_staged_system_is_next_unless_it_is_locked() {
    let root = tempfile::tempdir().unwrap();
    let ostree = root.path().join("run/ostree");
    fs::create_dir_all(&ostree).unwrap();
    assert!(!boot::is_staged(root.path()));
    fs::write(ostree.join("staged-deployment"), "").unwrap();
    assert!(boot::is_staged(root.path()));
    fs::write(ostree.join("staged-deployment-locked"), "").unwrap();
    assert!(!boot::is_staged(root.path()));
}
