use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::{Image, noise};
use crate::keys::keys;
use crate::run::Answer;
use crate::world::{BRANCH, REMOTE, World, fetching, world};

#[test]
fn a_pinned_commit_is_fetched_and_held_by_our_ref() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let (fetched, bytes) = world.fetch(&commit).fetched();
    assert_eq!(fetched, commit);
    assert!(bytes > 500_000, "{bytes}");
    let held = world.ostree(&[&world.local(), "rev-parse", "careen/target"]);
    assert_eq!(held.trim(), commit.as_str());
}

#[test]
fn fetch_by_branch_resolves_the_commit_and_stores_no_branch_ref() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let answer = world.run(&["fetch", "--remote", REMOTE, "--ref", BRANCH]);
    assert_eq!(answer.fetched().0, commit);
    let refs = world.ostree(&[&world.local(), "refs"]);
    assert!(!refs.contains(BRANCH), "{refs}");
}

#[test]
fn what_lies_here_signed_needs_no_network() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.server.go_away();
    assert_eq!(world.fetch(&commit).fetched(), (commit, 0));
}

#[test]
fn bytes_are_those_that_the_remote_sent() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let before = world.server.sent();
    let (_, bytes) = world.fetch(&commit).fetched();
    let sent = world.server.sent() - before;
    assert!(
        bytes.abs_diff(sent) * 20 < sent,
        "{bytes} said, {sent} sent"
    );
}

#[test]
fn only_what_changed_is_fetched() {
    let world = world();
    let shared = noise(7, 2_000_000);
    world.fetched(&Image::new(2).with("usr/share/big", &shared));
    let next = world.publish(
        &Image::new(3).with("usr/share/big", &shared),
        Some(&keys().trusted),
    );
    let (_, bytes) = world.fetch(&next).fetched();
    assert!(bytes < 600_000, "{bytes} for half a megabyte of changes");
}

/// What a remote offers as a static delta is read by libostree as root, and only a signed summary
/// says that it is the remote's.
#[test]
fn static_deltas_are_used_only_if_the_summary_is_signed() {
    for verified in [false, true] {
        let world = world();
        let commit = world.publish(&Image::new(2), Some(&keys().trusted));
        let repo = format!("--repo={}", world.path("repo").display());
        world.ostree(&[
            &repo,
            "static-delta",
            "generate",
            "--empty",
            commit.as_str(),
        ]);
        let home = format!("--gpg-homedir={}", keys().home.display());
        let sign = format!("--gpg-sign={}", keys().trusted);
        world.ostree(&[&repo, "summary", "-u", &sign, &home]);
        let ring = format!("--gpg-import={}", keys().ring.display());
        let summary = format!("--set=gpg-verify-summary={verified}");
        world.add_remote("site", &[&ring, &summary]);
        let branch = ["fetch", "--remote", "site", "--ref", BRANCH];
        let fetch = [&branch[..], &["--commit", commit.as_str()]].concat();
        assert_eq!(world.run(&fetch).fetched().0, commit);
        let used = world.server.was_asked_below("deltas/");
        assert_eq!(used, verified, "gpg-verify-summary={verified}");
    }
}

#[test]
fn a_cap_on_bandwidth_is_kept() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let mut capped = world.command(&[&fetching(&commit)[..], &["--bandwidth", "250000"]].concat());
    // What would let curl go around the relay.
    capped.env("no_proxy", "*");
    let begun = Instant::now();
    let answer = Answer::of(&capped.output().unwrap());
    assert!(
        answer.progress.len() > 3,
        "two seconds of pull show how far it is: {:?}",
        answer.progress
    );
    let (_, bytes) = answer.fetched();
    let least = Duration::from_secs_f64(bytes as f64 / 250_000.0 * 0.9);
    assert!(
        begun.elapsed() >= least,
        "{bytes} bytes in {:?}",
        begun.elapsed()
    );
}

/// A fetch of 2.5 MB that has come about half way, and gets no more until the remote recovers.
pub fn halfway(world: &World) -> (Digest, Child) {
    let image = (0..40).fold(Image::new(2), |image, n| {
        image.with(&format!("usr/share/{n}"), &noise(n + 50, 50_000))
    });
    let commit = world.publish(&image, Some(&keys().trusted));
    world.server.stall_after(1_200_000);
    let child = world.start(&fetching(&commit));
    wait_for(|| world.server.is_stalled());
    (commit, child)
}

#[test]
fn terminated_fetch_ends_and_the_next_one_reuses_its_objects() {
    let world = world();
    let (commit, child) = halfway(&world);
    kill(
        Pid::from_raw(child.id().try_into().unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    let reason = Answer::of(&child.wait_with_output().unwrap()).reason();
    assert!(matches!(reason, Reason::DeployDied { .. }), "{reason}");
    world.server.recover();
    let (_, bytes) = world.fetch(&commit).fetched();
    assert!(bytes < 2_000_000, "{bytes} of 2.5 MB were fetched again");
}

/// How long a run of careen-deploy may take to get somewhere, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

pub fn wait_for(mut ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < PATIENCE, "waited for nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn fetch_progress_never_decreases() {
    let world = world();
    let image = (0..300).fold(Image::new(2), |image, at| {
        image.with(
            &format!("usr/share/{}/{at}", at % 30),
            &noise(at + 9, 2_000),
        )
    });
    world.publish(&image, Some(&keys().trusted));
    let answer = world.run(&[
        "fetch",
        "--remote",
        REMOTE,
        "--ref",
        BRANCH,
        "--bandwidth",
        "500000",
    ]);
    let percents: Vec<_> = answer.progress.iter().map(|line| line.percent).collect();
    assert!(percents.len() > 3 && percents.is_sorted(), "{percents:?}");
    assert!(percents[0] < 50, "{percents:?}");
    answer.fetched();
}
