//! A generator of grub.cfg that fails, in the verbs behind the deployment.

use upgrade::Reason;

use crate::crash::{mend, with_generator};
use crate::image::Image;
use crate::world::World;

/// A deployed image, and a generator that fails from here on.
fn broken() -> (World, upgrade::id::Digest) {
    let world = with_generator("exec touch \"$2\"");
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    std::fs::write(world.path("generator"), "#!/bin/sh\nexit 1\n").unwrap();
    (world, commit)
}

#[test]
fn a_generator_that_fails_in_the_blessing_leaves_the_old_default_and_the_next_run_succeeds() {
    let (world, commit) = broken();
    let before = (world.order(), world.menu());
    let reason = world.verb("bless", &commit).reason();
    assert!(matches!(reason, Reason::DeployFailed { .. }), "{reason}");
    assert_eq!((world.order(), world.menu()), before);
    mend(&world);
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
}

#[test]
fn a_generator_that_fails_in_taking_back_leaves_the_old_menu_and_the_next_run_succeeds() {
    let (world, commit) = broken();
    let before = (world.order(), world.menu());
    let reason = world.verb("undo", &commit).reason();
    assert!(matches!(reason, Reason::DeployFailed { .. }), "{reason}");
    assert_eq!((world.order(), world.menu()), before);
    assert!(world.deployment(&commit, 0).exists(), "the menu names it");
    mend(&world);
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.order(), [world.installed.as_str()]);
}
