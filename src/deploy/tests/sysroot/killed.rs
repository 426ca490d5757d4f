//! careen-deploy is killed, or asked to end, at any change that it makes on the disk. What boots is
//! whole, and the next run reaches the same end as without the kill.
//!
//! A test takes a few of the places; `CAREEN_KILLS=all` takes each.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use host::{Places, boot};
use upgrade::Reason;
use upgrade::id::Digest;

use crate::hold::set_default;
use crate::image::Image;
use crate::keys::keys;
use crate::run::{Answer, succeed};
use crate::struck::{self, Blow, Struck};
use crate::traced::Call;
use crate::verify::object_of;
use crate::world::{World, fetching, flip, world};

/// Of all places, spread over the run, the first and the last among them.
const SAMPLE: usize = 6;

fn all_of_them() -> bool {
    std::env::var("CAREEN_KILLS").is_ok_and(|which| which == "all")
}

fn places(calls: usize) -> Vec<usize> {
    assert!(calls >= SAMPLE, "{calls} calls are no run");
    if all_of_them() {
        return (1..=calls).collect();
    }
    let spread = |at| 1 + at * (calls - 1) / (SAMPLE - 1);
    (0..SAMPLE).map(spread).collect()
}

/// A node's disk as it was, to begin again from.
struct Saved<'a> {
    world: &'a World,
    aside: PathBuf,
}

impl<'a> Saved<'a> {
    fn of(world: &'a World) -> Self {
        let aside = world.path("saved");
        copy(&world.root(), &aside);
        Self { world, aside }
    }

    fn put_back(&self) {
        fs::remove_dir_all(self.world.root()).unwrap();
        copy(&self.aside, &self.world.root());
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    succeed(Command::new("cp").arg("-a").args([from, to]));
}

/// What must be the same however often the work was broken off.
fn end(world: &World) -> (Vec<String>, Vec<String>) {
    (world.order(), world.disk())
}

/// Every entry of the menu leads to a system that is there, with its kernel.
fn all_boots(world: &World) {
    let menu = boot::default_first(&Places::physical(&world.root())).unwrap();
    for one in menu {
        let name = format!("{}-{}", one.stateroot, one.bootcsum);
        assert!(world.root().join("boot/ostree").join(name).is_dir());
        let folder = world.deployment(&one.digest, one.serial);
        assert!(folder.join("usr/bin/kubelet").exists(), "{folder:?}");
    }
}

/// What has another /etc than the running system is seen to have it: else it would be tried so.
fn none_is_stale_unseen(world: &World) {
    let running = world.deployment(&world.installed, 0);
    if !running.exists() {
        return;
    }
    let added = |folder: PathBuf| fs::read_to_string(folder.join("etc/added")).ok();
    let menu = boot::default_first(&Places::physical(&world.root())).unwrap();
    for one in menu.iter().filter(|one| one.digest != world.installed) {
        let there = added(world.deployment(&one.digest, one.serial));
        let fits = there == added(running.clone());
        assert!(fits || world.etc_has_changed(&one.digest), "{there:?}");
    }
}

/// At which change the verb is killed, and which of the others runs after it: each after each, or
/// they take turns.
fn kills<'a>(calls: usize, next: &[&'a [&'a str]]) -> Vec<(usize, &'a [&'a str])> {
    let places = places(calls).into_iter();
    if all_of_them() {
        return places
            .flat_map(|at| next.iter().map(move |next| (at, *next)))
            .collect();
    }
    places.zip(next.iter().copied().cycle()).collect()
}

/// Has the verb killed at its changes, and each time one of the others run after it: it ends as it
/// does where nothing was killed.
fn killed_at_its_changes(world: &World, verb: &[&str], next: &[&[&str]]) {
    let saved = Saved::of(world);
    let strike = |blow| struck::run(world.command(verb), Call::changes_names, blow);
    let Struck { calls, output } = strike(None);
    Answer::of(&output).verdict.unwrap();
    let ends = next.iter().map(|next| {
        saved.put_back();
        world.run(verb).verdict.unwrap();
        world.run(next).verdict.unwrap();
        (*next, end(world))
    });
    let ends: HashMap<_, _> = ends.collect();
    let mut alive = 0;
    for (at, next) in kills(calls, next) {
        saved.put_back();
        // How many changes there are differs a little from run to run, so that one of the last
        // places may not be come to.
        match strike(Some((at, Blow::Kill))).output.status.code() {
            None => {}
            Some(0) => alive += 1,
            Some(code) => panic!("it ended with {code} before change {at}"),
        }
        all_boots(world);
        none_is_stale_unseen(world);
        world.run(next).verdict.unwrap();
        assert_eq!(
            end(world),
            ends[next],
            "killed at change {at}, then {next:?}"
        );
        none_is_stale_unseen(world);
    }
    assert!(
        alive * 2 < SAMPLE,
        "{alive} runs were over before they were killed"
    );
    world.ostree(&[&world.local(), "fsck", "--quiet"]);
}

/// The same with a request to end, which these verbs heed when they are through.
fn asked_to_end_at_its_changes(world: &World, verb: &[&str]) {
    let saved = Saved::of(world);
    let strike = |blow| struck::run(world.command(verb), Call::changes_names, blow);
    let Struck { calls, output } = strike(None);
    Answer::of(&output).verdict.unwrap();
    let whole = end(world);
    for at in places(calls) {
        saved.put_back();
        let output = strike(Some((at, Blow::Term))).output;
        Answer::of(&output).verdict.unwrap();
        assert_eq!(end(world), whole, "asked to end at change {at}");
    }
}

/// A node on which an image was deployed. The test undoes that.
fn deployed() -> (World, Digest) {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    (world, commit)
}

/// A node with one system more than it is to keep.
fn with_one_too_many() -> World {
    let world = world();
    for version in 2..=3 {
        let commit = world.fetched(&Image::new(version));
        world.verb("deploy", &commit).deployed();
        world.verb("bless", &commit).verdict.unwrap();
    }
    assert_eq!(world.order().len(), 3);
    world
}

#[test]
fn undo_after_a_killed_fetch_leaves_nothing() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let (saved, before) = (Saved::of(&world), end(&world));
    let strike = |blow| struck::run(world.command(&fetching(&commit)), Call::changes_names, blow);
    let Struck { calls, output } = strike(None);
    Answer::of(&output).fetched();
    for at in places(calls) {
        saved.put_back();
        let broken_off = strike(Some((at, Blow::Kill))).output.status;
        assert_eq!(broken_off.code(), None, "the test kills it");
        if at % 2 == 0 {
            world.fetch(&commit).fetched();
            world.verb("verify", &commit).verified();
        }
        world.verb("undo", &commit).verdict.unwrap();
        assert_eq!(end(&world), before, "killed at change {at}");
    }
}

#[test]
fn killed_deploy_is_finished_by_a_redeploy_or_undone() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let [deploy, undo] = ["deploy", "undo"].map(|verb| [verb, "--commit", commit.as_str()]);
    killed_at_its_changes(&world, &deploy, &[&deploy, &undo]);
}

#[test]
fn killed_redeploy_over_a_changed_etc_is_finished_or_undone() {
    let (world, commit) = deployed();
    fs::write(world.etc("added"), "since").unwrap();
    let [deploy, undo] = ["deploy", "undo"].map(|verb| [verb, "--commit", commit.as_str()]);
    killed_at_its_changes(&world, &deploy, &[&deploy, &undo]);
}

#[test]
fn killed_undo_is_finished_by_an_undo_or_a_clean() {
    let (world, commit) = deployed();
    let undo = ["undo", "--commit", commit.as_str()];
    killed_at_its_changes(&world, &undo, &[&undo, &["clean"]]);
}

#[test]
fn a_clean_up_that_was_killed_anywhere_is_ended_by_the_next() {
    let world = with_one_too_many();
    killed_at_its_changes(&world, &["clean"], &[&["clean"]]);
    assert_eq!(world.order().len(), 2);
    assert!(!world.deployment(&world.installed, 0).exists());
}

#[test]
fn a_blessing_that_was_killed_anywhere_is_ended_by_the_next() {
    let (world, commit) = deployed();
    let bless = ["bless", "--commit", commit.as_str()];
    killed_at_its_changes(&world, &bless, &[&bless]);
    assert_eq!(world.order()[0], commit.as_str());
}

#[test]
fn killed_reinstate_is_finished_by_the_next_one() {
    let (world, commit) = deployed();
    let before = world.order();
    set_default(&world, 1);
    let [old, over] = [&world.installed, &commit].map(|commit| format!("{commit}.0"));
    let verb = ["reinstate", "--deployment", &old, "--over", &over];
    killed_at_its_changes(&world, &verb, &[&verb]);
    assert_eq!(world.order(), before);
}

#[test]
fn undo_and_clean_finish_their_work_after_sigterm() {
    let (world, commit) = deployed();
    asked_to_end_at_its_changes(&world, &["undo", "--commit", commit.as_str()]);
    asked_to_end_at_its_changes(&with_one_too_many(), &["clean"]);
}

fn verify(world: &World, commit: &Digest, blow: Option<(usize, Blow)>) -> Struck {
    let command = world.command(&["verify", "--commit", commit.as_str()]);
    struck::run(command, Call::opens_an_object, blow)
}

#[test]
fn killed_verify_changes_nothing_and_the_next_one_passes() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let before = world.disk();
    let Struck { calls, output } = verify(&world, &commit, None);
    let facts = Answer::of(&output).verified();
    for at in places(calls) {
        let broken_off = verify(&world, &commit, Some((at, Blow::Kill))).output;
        assert_eq!(broken_off.status.code(), None, "the test kills it");
        assert_eq!(world.disk(), before);
        let again = world.verb("verify", &commit).verified();
        assert_eq!(
            (again.info, again.kernel),
            (facts.info.clone(), facts.kernel.clone())
        );
    }
}

#[test]
fn terminated_verify_condemns_nothing_and_the_next_one_passes() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let before = world.disk();
    let mut places = places(verify(&world, &commit, None).calls);
    // The last are of what the image says of itself, which is read when all is checked.
    places.truncate(SAMPLE - 1);
    for at in places {
        let output = verify(&world, &commit, Some((at, Blow::TermHeard))).output;
        let reason = Answer::of(&output).reason();
        assert!(
            matches!(reason, Reason::DeployDied { .. }),
            "{at}: {reason}"
        );
        assert_eq!(world.disk(), before);
    }
    world.verb("verify", &commit).verified();
    assert_eq!(world.fetch(&commit).fetched().1, 0, "all of it is here");
}

#[test]
fn verify_killed_dropping_a_damaged_file_fails_the_next_verify() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    flip(&object_of(&world, commit.as_str(), "/usr/bin/kubelet"));
    let saved = Saved::of(&world);
    let strike = |blow| {
        let command = world.command(&["verify", "--commit", commit.as_str()]);
        struck::run(command, Call::changes_names, blow)
    };
    let calls = strike(None).calls;
    for at in 1..=calls {
        saved.put_back();
        let broken_off = strike(Some((at, Blow::Kill))).output.status;
        assert_eq!(broken_off.code(), None, "the test kills it");
        let reason = world.verb("verify", &commit).reason();
        assert!(matches!(reason, Reason::Damaged { .. }), "{at}: {reason}");
        let (_, bytes) = world.fetch(&commit).fetched();
        assert!(bytes > 0, "{at}: the file has not come again");
        world.verb("verify", &commit).verified();
    }
}
