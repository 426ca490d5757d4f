use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use upgrade::Reason;

use crate::image::Image;
use crate::refuse::refused;
use crate::world::world;

#[test]
fn changed_files_of_etc_go_with_the_new_system() {
    let world = world();
    fs::write(world.etc("hosts"), "changed").unwrap();
    fs::write(world.etc("added"), "added").unwrap();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let etc = world.deployment(&commit, 0).join("etc");
    assert_eq!(fs::read_to_string(etc.join("hosts")).unwrap(), "changed");
    assert_eq!(fs::read_to_string(etc.join("added")).unwrap(), "added");
    assert!(
        fs::read_to_string(etc.join("os-release"))
            .unwrap()
            .contains("VERSION_ID=2")
    );
}

#[test]
fn deployment_is_written_again_if_etc_changed_since() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    fs::write(world.etc("added"), "later").unwrap();
    let again = world.verb("deploy", &commit).deployed();
    assert_eq!(again.serial, 1);
    assert_eq!(
        fs::read_to_string(world.deployment(&commit, 1).join("etc/added")).unwrap(),
        "later"
    );
}

#[test]
fn an_unchanged_file_may_become_a_folder() {
    let world = world();
    let second = world.fetched(&Image::new(2).with("usr/etc/thing", b"a file"));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    assert!(world.deployment(&second, 0).join("etc/thing").is_file());
    let third = world.fetched(&Image::new(3).with("usr/etc/thing/part", b"in a folder"));
    world.verb("deploy", &third).deployed();
    let part = world.deployment(&third, 0).join("etc/thing/part");
    assert_eq!(fs::read_to_string(part).unwrap(), "in a folder");
}

#[test]
fn what_was_removed_or_replaced_on_the_node_stays_so() {
    let world = world();
    fs::remove_file(world.etc("hosts")).unwrap();
    fs::remove_file(world.etc("os-release")).unwrap();
    symlink("elsewhere", world.etc("os-release")).unwrap();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let etc = world.deployment(&commit, 0).join("etc");
    assert!(!etc.join("hosts").exists());
    let link = fs::read_link(etc.join("os-release")).unwrap();
    assert_eq!(link.to_str(), Some("elsewhere"));
}

#[test]
fn an_unchanged_folder_may_become_a_file() {
    let world = world();
    let second = world.fetched(&Image::new(2).with("usr/etc/thing/part", b"in a folder"));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    let third = world.fetched(&Image::new(3).with("usr/etc/thing", b"a file"));
    world.verb("deploy", &third).deployed();
    let thing = world.deployment(&third, 0).join("etc/thing");
    assert_eq!(fs::read_to_string(thing).unwrap(), "a file");
}

#[test]
fn files_vanishing_in_the_etc_merge_leave_no_partial_deployment() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let (before, over) = ((world.order(), world.menu()), AtomicBool::new(false));
    let answer = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                fs::write(world.etc("rotated"), "x").unwrap();
                fs::remove_file(world.etc("rotated")).unwrap();
            }
        });
        let answer = world.verb("deploy", &commit);
        over.store(true, Ordering::Relaxed);
        answer
    });
    match answer.verdict {
        // A try that a vanished file ended leaves a folder behind, and libostree gives the next one
        // the next number.
        Ok(_) => {
            assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
            let whole = world.folders_of(&commit);
            assert_eq!(whole.len(), 1, "{whole:?}");
            assert!(whole[0].join("etc/hosts").exists());
        }
        Err(reason) => {
            assert!(matches!(reason, Reason::EtcMerge { .. }), "{reason}");
            assert_eq!((world.order(), world.menu()), before);
            assert!(world.folders_of(&commit).is_empty());
        }
    }
    world.verb("deploy", &commit).deployed();
}

#[test]
fn own_file_in_a_folder_that_becomes_a_file_is_named_up_front() {
    let world = world();
    let second = world.fetched(&Image::new(2).with("usr/etc/thing/part", b"in a folder"));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    fs::write(world.deployment(&second, 0).join("etc/thing/own"), "mine").unwrap();
    let third = world.fetched(&Image::new(3).with("usr/etc/thing", b"a file"));
    let deploy = ["deploy", "--commit", third.as_str()];
    let reason = refused(
        &world,
        &deploy,
        &["/etc/thing/own ", "/etc/thing is a file"],
    );
    assert!(matches!(reason, Reason::EtcMerge { .. }), "{reason}");
}

#[test]
fn folder_replacing_an_images_etc_file_is_kept_by_the_merge() {
    let world = world();
    fs::remove_file(world.etc("hosts")).unwrap();
    fs::create_dir(world.etc("hosts")).unwrap();
    fs::write(world.etc("hosts/own"), "mine").unwrap();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let own = world.deployment(&commit, 0).join("etc/hosts/own");
    assert_eq!(fs::read_to_string(own).unwrap(), "mine");
}
