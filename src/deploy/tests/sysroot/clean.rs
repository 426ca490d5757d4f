use std::fs;
use std::path::PathBuf;
use std::process::Command;

use upgrade::deploy::Done;
use upgrade::id::Digest;

use crate::image::Image;
use crate::world::{World, world};

fn upgrade(world: &World, version: u32) -> Digest {
    let commit = world.fetched(&Image::new(version));
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!(world.run(&["clean"]).verdict, Ok(Done::Cleaned));
    commit
}

#[test]
fn the_default_and_the_pinned_one_stay_and_the_rest_goes() {
    let world = world();
    let second = upgrade(&world, 2);
    let third = upgrade(&world, 3);
    assert_eq!(world.order(), [third.as_str(), second.as_str()]);
    assert!(!world.deployment(&world.installed, 0).exists());
    let notes: Vec<_> = fs::read_dir(world.root().join("ostree/careen"))
        .unwrap()
        .collect();
    assert_eq!(
        notes.len(),
        4,
        "two notes for each of two systems: {notes:?}"
    );
}

#[test]
fn three_upgrades_in_a_row_take_no_more_room_than_two() {
    let world = world();
    upgrade(&world, 2);
    upgrade(&world, 3);
    let after_two = world.disk();
    upgrade(&world, 4);
    let after_three = world.disk();
    assert_eq!(
        after_three.len(),
        after_two.len(),
        "{after_two:#?} then {after_three:#?}"
    );
    let kernels = fs::read_dir(world.root().join("boot/ostree"))
        .unwrap()
        .count();
    assert_eq!(kernels, 2);
}

#[test]
fn cleaning_twice_changes_nothing() {
    let world = world();
    upgrade(&world, 2);
    let before = (world.disk(), world.menu());
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!((world.disk(), world.menu()), before);
}

/// What a run that was killed while it checked out leaves: a deployment in no menu.
fn orphan(world: &World) -> PathBuf {
    let folder = world
        .root()
        .join(format!("ostree/deploy/node/deploy/{}.0", "5".repeat(64)));
    fs::create_dir_all(folder.join("usr/share")).unwrap();
    fs::write(folder.join("usr/share/stray"), "stray").unwrap();
    folder
}

fn can_be_immutable(path: &PathBuf) -> bool {
    let mut chattr = Command::new("chattr");
    let done = chattr.arg("+i").arg(path).status();
    done.is_ok_and(|status| status.success())
}

#[test]
fn deploy_removes_an_orphan_with_immutable_files() {
    let world = world();
    let orphan = orphan(&world);
    if !can_be_immutable(&orphan.join("usr/share/stray")) {
        eprintln!("not checked: this file system knows no immutable files");
        return;
    }
    assert!(can_be_immutable(&orphan.join("usr/share")));
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert!(!orphan.exists());
}

#[test]
fn an_orphan_that_cannot_be_removed_is_named_and_blocks_nothing() {
    let world = world();
    let orphan = orphan(&world);
    let below = orphan.strip_prefix(world.root()).unwrap().join("usr/share");
    let _mounted = world.small_file_system(below.to_str().unwrap(), 1 << 20);
    let commit = world.fetched(&Image::new(2));
    let answer = world.verb("deploy", &commit);
    let leaving = format!("cannot remove {}", orphan.display());
    let told = answer
        .progress
        .iter()
        .find(|line| line.doing.contains(&leaving));
    let told = told.unwrap_or_else(|| panic!("{:?}", answer.progress));
    assert!(told.doing.contains("nothing is pruned"), "{}", told.doing);
    answer.deployed();
    assert_eq!(upgrade(&world, 3), world.order()[0].parse().unwrap());
}
