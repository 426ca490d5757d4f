use std::fs;

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
