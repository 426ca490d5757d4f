//! The way back: the kept system is deployed a second time beside itself, and replaces itself when
//! it is proven.

use upgrade::deploy::Done;
use upgrade::id::Digest;

use crate::image::Image;
use crate::world::{World, world};

/// A node that runs image 2 and keeps what it was installed with.
fn upgraded() -> (World, Digest) {
    let world = world();
    let second = world.fetched(&Image::new(2));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    world.run(&["clean"]).verdict.unwrap();
    (world, second)
}

/// Commit, serial and pin of each deployment, the default first.
fn found(world: &World) -> Vec<(String, u32, bool)> {
    let Ok(Done::Status { deployments }) = world.run(&["status"]).verdict else {
        panic!("no status")
    };
    let told = deployments.into_iter();
    told.map(|one| (one.digest.into(), one.serial, one.pinned))
        .collect()
}

#[test]
fn it_needs_no_remote_and_leaves_the_system_that_was_left_kept() {
    let (world, second) = upgraded();
    let first = world.installed.clone();
    world.server.go_away();
    world.verb("verify", &first).verified();
    let made = world.verb("deploy", &first).deployed();
    assert_eq!(made.serial, 1, "a deployment of its own");
    let (first, second) = (first.to_string(), second.to_string());
    let tried = [
        (second.clone(), 0, true),
        (first.clone(), 0, true),
        (first.clone(), 1, false),
    ];
    assert_eq!(found(&world), tried);
    world.verb("bless", &made.digest).verdict.unwrap();
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!(found(&world), [(first, 1, false), (second, 0, true)]);
}

#[test]
fn given_up_it_is_kept_as_before() {
    let (world, _) = upgraded();
    let first = world.installed.clone();
    let before = found(&world);
    world.verb("deploy", &first).deployed();
    world.verb("undo", &first).verdict.unwrap();
    assert_eq!(found(&world), before);
    world.verb("verify", &first).verified();
}

#[test]
fn it_does_not_make_room_for_itself() {
    let (world, _) = upgraded();
    let first = world.installed.clone();
    // Less than what is to be left, whatever is deployed: its own kernel is there already.
    let _small = world.small_file_system("boot", 3 * (1 << 20));
    world.verb("deploy", &first).deployed();
    assert!(found(&world).contains(&(first.to_string(), 0, true)));
}
