//! A generator of grub.cfg that fails or hangs, in the verbs after the deployment.

use upgrade::Reason;

use crate::crash::{repair, with_generator};
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
fn failing_generator_in_bless_keeps_the_default() {
    let (world, commit) = broken();
    let before = (world.order(), world.menu());
    let reason = world.verb("bless", &commit).reason();
    assert!(matches!(reason, Reason::DeployFailed { .. }), "{reason}");
    assert_eq!((world.order(), world.menu()), before);
    repair(&world);
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
}

#[test]
fn failing_generator_in_undo_keeps_the_menu_and_the_deployment() {
    let (world, commit) = broken();
    let before = (world.order(), world.menu());
    let reason = world.verb("undo", &commit).reason();
    assert!(matches!(reason, Reason::DeployFailed { .. }), "{reason}");
    assert_eq!((world.order(), world.menu()), before);
    assert!(world.deployment(&commit, 0).exists(), "the menu names it");
    repair(&world);
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.order(), [world.installed.as_str()]);
}

#[test]
fn hanging_generator_is_ended_with_its_children_and_named() {
    let (world, commit) = broken();
    let below = world.path("below");
    let script = format!(
        "#!/bin/sh\nsleep 997 &\necho $! > {}\nwait\n",
        below.display()
    );
    std::fs::write(world.path("generator"), script).unwrap();
    let before = (world.order(), world.menu());
    let arguments = ["--child-seconds", "1", "bless", "--commit", commit.as_str()];
    let told = world.run(&arguments).reason().to_string();
    assert!(told.contains("generator did not end within 1 s"), "{told}");
    assert_eq!((world.order(), world.menu()), before);
    let below = std::fs::read_to_string(below).unwrap();
    // One that is dead and has not been collected yet has no command line any more.
    let cmdline = format!("/proc/{}/cmdline", below.trim());
    let is_gone = || std::fs::read(&cmdline).unwrap_or_default().is_empty();
    // The kernel ends a killed process when it next runs, which a loaded machine delays.
    let gone = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        is_gone()
    });
    assert!(gone, "what the generator started is still there");
    repair(&world);
    world.verb("bless", &commit).verdict.unwrap();
}
