//! The system that a trial falls back to stays: it is pinned from the deployment on, so no clean-up
//! removes it, and it becomes the default again after another program moved the default.

use std::fs;

use host::{Places, boot};
use ostree_ext::gio;
use ostree_ext::ostree::Sysroot;
use upgrade::Reason;
use upgrade::deploy::Done;
use upgrade::id::Digest;

use crate::image::Image;
use crate::run::Answer;
use crate::world::{World, world};

/// Commit, and whether it is pinned and kept by Careen, as the agent sees it; the default first.
fn seen(world: &World) -> Vec<(Digest, bool, bool)> {
    let all = boot::default_first(&Places::physical(&world.root())).unwrap();
    let all = all.into_iter();
    all.map(|one| (one.digest, one.pinned, one.kept)).collect()
}

fn origin(world: &World) -> String {
    let folder = world.deployment(&world.installed, 0);
    fs::read_to_string(folder.with_added_extension("origin")).unwrap()
}

fn admin(world: &World, verb: &[&str]) -> String {
    let sysroot = format!("--sysroot={}", world.root().display());
    world.ostree(&[&["admin"], verb, &[&sysroot]].concat())
}

/// A node with an image deployed, which is yet to be tried.
fn deployed() -> (World, Digest) {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    (world, commit)
}

fn by_hand(world: &World, version: u32) -> Digest {
    let commit = world.fetched(&Image::new(version));
    admin(world, &["deploy", "--os=node", commit.as_str()]);
    commit
}

/// As `ostree admin set-default` of newer versions does it.
pub fn set_default(world: &World, at: usize) {
    let sysroot = Sysroot::new(Some(&gio::File::for_path(world.root())));
    let never = None::<&gio::Cancellable>;
    sysroot.load(never).unwrap();
    let mut order = sysroot.deployments();
    order[..=at].rotate_right(1);
    sysroot.write_deployments(&order, never).unwrap();
}

fn reinstate(world: &World, old: &Digest, over: &Digest) -> Answer {
    let [old, over] = [old, over].map(|commit| format!("{commit}.0"));
    world.run(&["reinstate", "--deployment", &old, "--over", &over])
}

fn bless_over(world: &World, commit: &Digest, over: &Digest) -> Answer {
    let over = format!("{over}.0");
    world.run(&["bless", "--commit", commit.as_str(), "--over", &over])
}

#[test]
fn deploy_pins_the_running_system_and_undo_unpins_it() {
    let (world, commit) = deployed();
    let old = world.installed.clone();
    let held = [(old.clone(), true, true), (commit.clone(), false, false)];
    assert_eq!(seen(&world), held);
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(seen(&world), [(old, false, false)]);
    assert!(!origin(&world).contains("pinned"), "{}", origin(&world));
}

#[test]
fn foreign_deployments_and_cleanup_keep_the_pinned_old_system() {
    let (world, _) = deployed();
    for version in 3..=4 {
        by_hand(&world, version);
    }
    admin(&world, &["cleanup"]);
    let old = (world.installed.clone(), true, true);
    assert!(seen(&world).contains(&old), "{:?}", seen(&world));
    assert!(world.deployment(&world.installed, 0).join("usr").exists());
}

#[test]
fn an_administrators_pin_on_the_running_system_stays_theirs() {
    let world = world();
    admin(&world, &["pin", "0"]);
    let (before, disk) = (origin(&world), world.disk());
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(origin(&world), before);
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!((origin(&world), world.disk()), (before, disk));
}

#[test]
fn next_deploy_restores_a_removed_pin_and_deploys_nothing_new() {
    let (world, commit) = deployed();
    admin(&world, &["pin", "--unpin", "0"]);
    assert!(!seen(&world)[0].1);
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!((made.serial, seen(&world)[0].1), (0, true));
}

#[test]
fn a_clean_up_behind_a_failed_upgrade_takes_the_pin_off() {
    let (world, _) = deployed();
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!(seen(&world), [(world.installed.clone(), false, false)]);
    admin(&world, &["pin", "0"]);
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!(seen(&world), [(world.installed.clone(), true, false)]);
}

#[test]
fn kept_system_survives_a_failed_upgrade() {
    let (world, second) = deployed();
    world.verb("bless", &second).verdict.unwrap();
    world.run(&["clean"]).verdict.unwrap();
    let kept = (world.installed.clone(), true, true);
    let before = [(second.clone(), false, false), kept.clone()];
    assert_eq!(seen(&world), before);
    let third = world.fetched(&Image::new(3));
    world.verb("deploy", &third).deployed();
    let tried = (third.clone(), false, false);
    assert_eq!(seen(&world), [(second.clone(), true, true), kept, tried]);
    world.verb("undo", &third).verdict.unwrap();
    assert_eq!(seen(&world), before);
    world.fetch(&third).fetched();
    world.verb("deploy", &third).deployed();
    world.verb("bless", &third).verdict.unwrap();
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!(seen(&world), [(third, false, false), (second, true, true)]);
}

#[test]
fn bless_refuses_a_trial_system_made_default_by_others() {
    let (world, commit) = deployed();
    set_default(&world, 1);
    let order = world.order();
    let default = commit.short().to_owned();
    let reason = bless_over(&world, &commit, &world.installed).reason();
    assert_eq!(reason, Reason::ForeignDefault { default });
    assert_eq!(world.order(), order);
}

#[test]
fn reused_deployment_does_not_count_an_earlier_blessing() {
    let (world, commit) = deployed();
    assert_eq!(
        bless_over(&world, &commit, &world.installed).verdict,
        Ok(Done::Blessed)
    );
    // Its own swap, by the mark.
    assert_eq!(
        bless_over(&world, &commit, &world.installed).verdict,
        Ok(Done::Blessed)
    );
    set_default(&world, 1);
    assert_eq!(world.verb("deploy", &commit).deployed().serial, 0);
    set_default(&world, 1);
    let reason = bless_over(&world, &commit, &world.installed).reason();
    assert!(matches!(reason, Reason::ForeignDefault { .. }), "{reason}");
}

#[test]
fn reinstate_restores_the_old_default_and_refuses_a_foreign_one() {
    let (world, commit) = deployed();
    let old = world.installed.clone();
    let before = world.order();
    set_default(&world, 1);
    assert_ne!(world.order(), before);
    for _again in 0..2 {
        let done = reinstate(&world, &old, &commit).verdict;
        assert_eq!(done, Ok(Done::Reinstated));
        assert_eq!(world.order(), before);
    }
    world.verb("undo", &commit).verdict.unwrap();
    world.fetch(&commit).fetched();
    world.verb("deploy", &commit).deployed();
    let theirs = by_hand(&world, 3);
    let reason = reinstate(&world, &old, &commit).reason();
    assert!(matches!(reason, Reason::ForeignDefault { .. }), "{reason}");
    assert_eq!(world.order()[0], theirs.as_str());
    let nowhere = reinstate(&world, &"0".repeat(64).parse().unwrap(), &theirs).reason();
    assert!(
        matches!(nowhere, Reason::TargetVanished { .. }),
        "{nowhere}"
    );
}
