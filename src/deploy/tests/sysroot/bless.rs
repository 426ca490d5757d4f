use std::fs;

use host::{Places, boot};
use upgrade::Reason;
use upgrade::deploy::Done;
use upgrade::image::Deployment;

use crate::image::Image;
use crate::world::{World, world};

fn status(world: &World) -> Vec<Deployment> {
    match world.run(&["status"]).verdict {
        Ok(Done::Status { deployments }) => deployments,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bless_makes_the_new_system_default_and_pins_the_old_one() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(world.verb("bless", &commit).verdict, Ok(Done::Blessed));
    let found: Vec<_> = status(&world)
        .into_iter()
        .map(|one| (one.digest, one.pinned, one.kept))
        .collect();
    let old = world.installed.clone();
    assert_eq!(found, [(commit, false, false), (old, true, true)]);
    assert!(
        world
            .menu()
            .iter()
            .max()
            .unwrap()
            .1
            .contains("title Test 2 ")
    );
}

#[test]
fn only_the_last_good_system_is_pinned() {
    let world = world();
    let mut blessed = vec![world.installed.clone()];
    for version in 2..=3 {
        let commit = world.fetched(&Image::new(version));
        world.verb("deploy", &commit).deployed();
        world.verb("bless", &commit).verdict.unwrap();
        blessed.insert(0, commit);
    }
    let found: Vec<_> = status(&world)
        .into_iter()
        .map(|one| (one.digest, one.pinned))
        .collect();
    let expected: Vec<_> = blessed.into_iter().zip([false, true, false]).collect();
    assert_eq!(found, expected);
}

#[test]
fn administrators_pin_survives_the_end_of_our_own_keeping() {
    let world = world();
    let sysroot = format!("--sysroot={}", world.root().display());
    world.ostree(&["admin", "pin", &sysroot, "0"]);
    let seen = |world: &World| {
        let all = boot::default_first(&Places::physical(&world.root())).unwrap();
        let all = all
            .into_iter()
            .map(|one| (one.digest, one.pinned, one.kept));
        all.collect::<Vec<_>>()
    };
    let old = world.installed.clone();
    assert_eq!(seen(&world), [(old.clone(), true, false)]);
    let mut last = old.clone();
    for version in 2..=3 {
        let commit = world.fetched(&Image::new(version));
        world.verb("deploy", &commit).deployed();
        world.verb("bless", &commit).verdict.unwrap();
        world.run(&["clean"]).verdict.unwrap();
        let found = seen(&world);
        assert_eq!(
            found[..2],
            [(commit.clone(), false, false), (last, true, true)]
        );
        last = commit;
    }
    assert_eq!(seen(&world)[2..], [(old, true, false)]);
}

#[test]
fn blessing_twice_changes_nothing() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    let before = (world.disk(), world.menu());
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!((world.disk(), world.menu()), before);
}

#[test]
fn bless_refuses_a_default_changed_since_the_judgement() {
    let world = world();
    let trial = world.fetched(&Image::new(2));
    world.verb("deploy", &trial).deployed();
    let theirs = world.fetched(&Image::new(3));
    world.verb("deploy", &theirs).deployed();
    world.verb("bless", &theirs).verdict.unwrap();
    let before = (world.disk(), world.menu());
    let bless = |over: &str| world.run(&["bless", "--commit", trial.as_str(), "--over", over]);
    let reason = bless(&format!("{}.0", world.installed)).reason();
    let default = theirs.short().to_owned();
    assert_eq!(reason, Reason::ForeignDefault { default });
    assert_eq!((world.disk(), world.menu()), before);
    for _again in 0..2 {
        let blessed = bless(&format!("{theirs}.0")).verdict;
        assert_eq!(blessed, Ok(Done::Blessed), "over what is the default now");
    }
}

/// Another system that an administrator has put there and pinned.
pub fn put_there_by_hand(world: &World, stateroot: &str, version: u32) -> String {
    let commit = world.fetched(&Image::new(version));
    let sysroot = format!("--sysroot={}", world.root().display());
    let stateroot = format!("--os={stateroot}");
    world.ostree(&[
        "admin",
        "deploy",
        "--not-as-default",
        "--retain",
        &sysroot,
        &stateroot,
        commit.as_str(),
    ]);
    let at = everything(world)
        .iter()
        .position(|line| line.contains(commit.as_str()))
        .unwrap();
    world.ostree(&["admin", "pin", &sysroot, &at.to_string()]);
    commit.to_string()
}

/// The lines of `ostree admin status` that name deployments of any stateroot.
fn everything(world: &World) -> Vec<String> {
    let sysroot = format!("--sysroot={}", world.root().display());
    let status = world.ostree(&["admin", "status", &sysroot]);
    let lines = status.lines().filter(|line| {
        let word = line.split_whitespace().nth(1).unwrap_or_default();
        word.len() > 64
    });
    lines.map(str::to_owned).collect()
}

fn is_pinned(world: &World, stateroot: &str, commit: &str) -> bool {
    let origin = format!("ostree/deploy/{stateroot}/deploy/{commit}.0.origin");
    fs::read_to_string(world.root().join(origin))
        .unwrap()
        .contains("pinned=true")
}

#[test]
fn what_an_administrator_has_pinned_stays_pinned_and_there() {
    let world = world();
    let sysroot = format!("--sysroot={}", world.root().display());
    world.ostree(&["admin", "os-init", &sysroot, "other"]);
    let spare = put_there_by_hand(&world, "node", 8);
    let foreign = put_there_by_hand(&world, "other", 9);
    for version in 2..=4 {
        let commit = world.fetched(&Image::new(version));
        world.verb("deploy", &commit).deployed();
        world.verb("bless", &commit).verdict.unwrap();
        world.run(&["clean"]).verdict.unwrap();
    }
    assert!(is_pinned(&world, "node", &spare));
    assert!(is_pinned(&world, "other", &foreign));
    // Two of ours, and the two by hand.
    assert_eq!(everything(&world).len(), 4, "{:#?}", everything(&world));
    assert!(!world.deployment(&world.installed, 0).exists());
}
