//! /boot that is not the one that belongs to this root: not mounted, as an automount that has timed
//! out, or put back to an older copy. libostree's clean-up removes every deployment that no boot
//! entry names, so nothing may run then.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::mount::{MntFlags, umount2};
use upgrade::Reason;
use upgrade::deploy::Done;

use crate::image::Image;
use crate::listing::Listing;
use crate::run::{Answer, succeed};
use crate::running::running;
use crate::world::{World, world};

/// Every verb that writes is refused, and leaves the whole disk as it was.
fn nothing_is_done(root: &Path, commit: &str, run: impl Fn(&[&str]) -> Answer) {
    let before = Listing::of(root);
    for arguments in [
        &["deploy", "--commit", commit, "--again"][..],
        &["bless", "--commit", commit],
        &["undo", "--commit", commit],
        &["clean"],
    ] {
        let reason = run(arguments).reason();
        assert!(matches!(reason, Reason::DeployFailed { .. }), "{reason}");
        let changes = before.changes(&Listing::of(root));
        assert_eq!(changes, [], "{arguments:?}");
    }
}

#[test]
fn writing_verbs_are_refused_while_boot_is_not_mounted() {
    let node = running();
    let commit = node.deployed(&Image::new(2));
    umount2(&node.live.join("boot"), MntFlags::MNT_DETACH).unwrap();
    nothing_is_done(&node.world.root(), commit.as_str(), |arguments| {
        node.run(arguments)
    });
    node.bind(&node.world.root().join("boot"), "boot");
    let bless = node.run(&["bless", "--commit", commit.as_str()]);
    assert_eq!(bless.verdict, Ok(Done::Blessed));
}

fn copy(from: &Path, to: &Path) {
    succeed(Command::new("cp").arg("-a").arg(from).arg(to));
}

fn upgrade(world: &World, version: u32) -> String {
    let commit = world.fetched(&Image::new(version));
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    world.run(&["clean"]).verdict.unwrap();
    commit.to_string()
}

#[test]
fn writing_verbs_are_refused_on_an_older_copy_of_boot() {
    let world = world();
    let (boot, now, older) = (
        world.root().join("boot"),
        world.path("now"),
        world.path("older"),
    );
    copy(&boot, &older);
    upgrade(&world, 2);
    let third = upgrade(&world, 3);
    fs::rename(&boot, &now).unwrap();
    fs::rename(&older, &boot).unwrap();
    nothing_is_done(&world.root(), &third, |arguments| world.run(arguments));
    fs::remove_dir_all(&boot).unwrap();
    fs::rename(&now, &boot).unwrap();
    upgrade(&world, 4);
    assert_eq!(world.order()[1], third);
}

/// Where the kernel arguments of the menu's first entry lead on the root.
fn first_entry_leads_to(world: &World) -> std::io::Result<std::path::PathBuf> {
    let entries = fs::read_dir(world.root().join("boot/loader/entries")).unwrap();
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    // libostree numbers them upwards, the default highest.
    entries.sort();
    let entry = fs::read_to_string(entries.last().unwrap()).unwrap();
    let link = entry
        .split_whitespace()
        .find_map(|word| word.strip_prefix("ostree=/"));
    fs::canonicalize(world.root().join(link.unwrap()))
}

#[test]
fn older_copy_of_boot_still_boots_the_old_system() {
    let world = world();
    let (boot, older) = (world.root().join("boot"), world.path("older"));
    let old = first_entry_leads_to(&world).unwrap();
    copy(&boot, &older);
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    fs::remove_dir_all(&boot).unwrap();
    fs::rename(&older, &boot).unwrap();
    assert_eq!(first_entry_leads_to(&world).unwrap(), old);
    // What runs there can go on from here: to libostree nothing was deployed yet.
    world.verb("deploy", &commit).deployed();
    assert_eq!(world.order().len(), 2);
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!(world.order()[0], commit.to_string());
}
