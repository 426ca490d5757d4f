//! GRUB replays no journal: while the menu is swapped, the link that it may still follow must not
//! be freed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::image::Image;
use crate::world::{World, world};

/// A node whose generator, run in the middle of the swap, runs this.
fn in_the_swap(script: &str) -> World {
    let mut world = world();
    let local = world.local();
    world.ostree(&[&local, "config", "set", "sysroot.bootloader", "grub2"]);
    fs::create_dir_all(world.root().join("boot/grub")).unwrap();
    let path = world.path("generator");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    world.generator = Some(path);
    world
}

fn names_of_the_link(world: &World) -> u64 {
    let link = world.root().join("boot/loader");
    fs::symlink_metadata(link).unwrap().nlink()
}

#[test]
fn the_link_has_a_second_name_in_the_swap_and_one_afterwards() {
    let world =
        in_the_swap(r#"test "$(stat -c %h "${2%%/loader*}/loader")" = 2 && exec touch "$2""#);
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(names_of_the_link(&world), 1);
    assert!(!world.root().join("boot/.careen-loader").is_symlink());
}

#[test]
fn clean_removes_the_second_link_left_by_a_killed_run() {
    let world = in_the_swap("kill -9 $PPID");
    let commit = world.fetched(&Image::new(2));
    let output = world
        .command(&["deploy", "--commit", commit.as_str()])
        .output();
    assert_eq!(output.unwrap().status.code(), None, "the test kills it");
    assert_eq!(names_of_the_link(&world), 2);
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!(names_of_the_link(&world), 1);
}

#[test]
fn undo_and_clean_remove_half_written_notes_of_a_gone_commit() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let torn = |name: String| world.root().join("ostree/careen").join(name);
    let notes = [
        format!("manifest-{commit}.json.new"),
        format!("etc-{commit}.new"),
        format!("vouched-{commit}"),
    ];
    for name in &notes {
        fs::write(torn(name.clone()), "half").unwrap();
    }
    world.verb("undo", &commit).verdict.unwrap();
    assert!(notes.iter().all(|name| !torn(name.clone()).exists()));
    for name in &notes {
        fs::write(torn(name.clone()), "half").unwrap();
    }
    world.run(&["clean"]).verdict.unwrap();
    assert!(notes.iter().all(|name| !torn(name.clone()).exists()));
}
