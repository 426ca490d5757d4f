//! /boot that runs full in the middle: there were bytes enough, but there is no room for one more
//! name.

use std::process::Command;

use upgrade::Reason;

use crate::image::Image;
use crate::keys::keys;
use crate::run::succeed;
use crate::world::{World, world};

/// More names than one deployment puts on /boot.
const ENOUGH: u64 = 40;

/// How many files, links and folders /boot can have from now on.
fn allow(world: &World, names: u64) {
    let options = format!("remount,nr_inodes={names}");
    let boot = world.root().join("boot");
    succeed(Command::new("mount").args(["-o", &options]).arg(boot));
}

fn names(world: &World) -> u64 {
    let boot = world.root().join("boot");
    let all = succeed(Command::new("find").arg(boot));
    all.lines().count().try_into().unwrap()
}

#[test]
fn full_boot_fails_the_deploy_and_keeps_the_menu() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let _boot = world.file_system("boot", "size=8m");
    let (before, used) = ((world.order(), world.menu()), names(&world));
    let mut refused = 0;
    for room in 1..ENOUGH {
        allow(&world, used + room);
        let answer = world.verb("deploy", &commit);
        if answer.verdict.is_ok() {
            break;
        }
        let reason = answer.reason();
        assert!(matches!(reason, Reason::NoRoom { .. }), "{room}: {reason}");
        assert_eq!((world.order(), world.menu()), before, "{room}");
        refused += 1;
    }
    assert!((3..ENOUGH - 1).contains(&refused), "{refused} times");
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
}

#[test]
fn fetch_is_refused_where_inodes_run_out_and_not_bytes() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let _boot = world.file_system("boot", "size=8m");
    allow(&world, names(&world) + 4);
    let reason = world.fetch(&commit).reason();
    let told = reason.to_string();
    assert!(
        matches!(reason, Reason::NoRoom { inodes: true, .. }),
        "{told}"
    );
    assert!(told.contains("/boot") && told.contains("inodes"), "{told}");
}
