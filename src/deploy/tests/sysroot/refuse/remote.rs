//! A remote in the wrong hands, or somebody who sits before it: what it answers is not what was
//! asked for.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use upgrade::Reason;
use upgrade::id::Digest;

use super::{fetch, pinned, refused};
use crate::fetch::wait_for;
use crate::image::Image;
use crate::keys::keys;
use crate::listing::Listing;
use crate::run::Answer;
use crate::trick::Trick;
use crate::world::{BRANCH, REMOTE, World, remote_alone, world};

const MIB: u64 = 1 << 20;
/// How much room libostree is to leave (ostree.repo-config(5)).
const RESERVE: &str = "core.min-free-space-size";

/// An object of the remote's repository.
fn object(world: &World, checksum: &str, kind: &str) -> PathBuf {
    let (first, rest) = checksum.split_at(2);
    world.path(&format!("repo/objects/{first}/{rest}.{kind}"))
}

/// A file of an image, as the remote keeps it.
fn file(world: &World, commit: &Digest, path: &str) -> PathBuf {
    let repo = format!("--repo={}", world.path("repo").display());
    let listing = world.ostree(&[&repo, "ls", "-C", commit.as_str(), path]);
    object(world, listing.split_whitespace().nth(4).unwrap(), "filez")
}

fn is_away(reason: &Reason) -> bool {
    matches!(reason, Reason::RemoteAway { .. })
}

#[test]
fn what_a_redirect_leads_to_must_be_signed_all_the_same() {
    let (world, theirs) = (world(), remote_alone());
    theirs.publish(&Image::new(2), Some(&keys().stranger));
    let address = format!("http://127.0.0.1:{}", theirs.server.port);
    world.server.plays(Trick::Redirect(address), "");
    let reason = refused(
        &world,
        &fetch(REMOTE, BRANCH),
        &["remote", REMOTE, "trusted key"],
    );
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    assert!(theirs.server.sent() > 0, "the redirect was followed");
}

#[test]
fn a_redirect_to_a_file_of_the_node_is_not_followed() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let kubelet = file(&world, &commit, "/usr/bin/kubelet");
    // Each would do, were it read from there.
    for (path, arguments) in [
        (
            world.path("repo/refs/heads").join(BRANCH),
            fetch(REMOTE, BRANCH),
        ),
        (
            object(&world, commit.as_str(), "commit"),
            pinned(commit.as_str()),
        ),
        (kubelet, pinned(commit.as_str())),
    ] {
        let place = format!("file://{}", path.display());
        let end = path.file_name().unwrap().to_str().unwrap();
        world.server.plays(Trick::RedirectTo(place), end);
        let reason = refused(&world, &arguments, &["remote", REMOTE]);
        assert!(is_away(&reason), "{end}: {reason}");
        world.server.plays_no_more();
    }
}

/// How often libcurl lets itself be sent elsewhere, from 8.3 on; before, it is as patient as the
/// one who started it.
const TURNS: u64 = 30;

#[test]
fn redirect_loop_ends_the_fetch_by_itself_or_on_sigterm() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let before = Listing::of(&world.root());
    for (end, arguments) in [
        (BRANCH, fetch(REMOTE, BRANCH)),
        (".commit", pinned(commit.as_str())),
    ] {
        let here = format!("http://127.0.0.1:{}", world.server.port);
        world.server.plays(Trick::Redirect(here), end);
        let asked = world.server.asked();
        let mut child = world.start(&arguments);
        wait_for(|| {
            world.server.asked() > asked + 10 * TURNS || child.try_wait().unwrap().is_some()
        });
        if child.try_wait().unwrap().is_none() {
            let id = Pid::from_raw(child.id().try_into().unwrap());
            kill(id, Signal::SIGTERM).unwrap();
        }
        let reason = Answer::of(&child.wait_with_output().unwrap()).reason();
        let asked_to_end = matches!(reason, Reason::DeployDied { .. });
        assert!(asked_to_end || is_away(&reason), "{end}: {reason}");
        world.server.plays_no_more();
    }
    assert_eq!(before.changes(&Listing::of(&world.root())), []);
    world.fetch(&commit).fetched();
}

#[test]
fn a_ref_or_a_commit_without_an_end_is_cut_off() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    for (end, arguments) in [
        (BRANCH, fetch(REMOTE, BRANCH)),
        (".commit", pinned(commit.as_str())),
    ] {
        world.server.plays(Trick::Endless, end);
        let before = world.server.sent();
        let reason = refused(&world, &arguments, &["remote", REMOTE]);
        assert!(is_away(&reason), "{reason}");
        // libostree takes 10 MiB, newer ones 128, and asks up to four times.
        let sent = world.server.sent() - before;
        assert!(sent < 600 * MIB, "{sent} bytes for {end}");
    }
}

#[test]
fn endless_file_stops_at_a_full_disk_and_the_space_is_freed() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    world.server.plays(Trick::Endless, ".filez");
    let small = world.small_file_system("", 16 * MIB);
    let _var_tmp = world.small_var_tmp(&small);
    let before = host::room::free(&world.root()).unwrap();
    let reason = refused(&world, &pinned(commit.as_str()), &["root", "bytes free"]);
    assert!(matches!(reason, Reason::NoRoom { .. }), "{reason}");
    let kept = before.saturating_sub(host::room::free(&world.root()).unwrap());
    assert!(kept < MIB, "{kept} bytes are kept");
}

#[test]
fn endless_file_is_abandoned_while_reserved_space_remains() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    // Each file so, eight at a time.
    world.server.plays(Trick::Slowly(MIB), ".filez");
    let small = world.small_file_system("", 24 * MIB);
    let _var_tmp = world.small_var_tmp(&small);
    world.ostree(&[&world.local(), "config", "set", RESERVE, "12MB"]);
    let (free, sent) = (
        || host::room::free(&world.root()).unwrap(),
        || world.server.sent(),
    );
    let (before, begun) = (free(), sent());
    let reason = world.run(&pinned(commit.as_str())).reason();
    assert!(
        matches!(&reason, Reason::NoRoom { need, free, .. } if *need == 12 * MIB && *free > 2 * MIB),
        "{reason}"
    );
    assert!(sent() - begun < before - 2 * MIB, "{} of {before}", sent());
    assert!(free() > before - MIB, "what came is given back");
}

/// Nothing in careen-deploy ends a pull that comes ever so slowly: its unit does, when its time is
/// up.
#[test]
fn a_file_that_drips_is_let_go_when_the_fetch_is_asked_to_end() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    world.server.plays(Trick::Slowly(64 << 10), ".filez");
    let child = world.start(&pinned(commit.as_str()));
    let sent = world.server.sent();
    wait_for(|| world.server.sent() > sent + MIB / 8);
    let id = Pid::from_raw(child.id().try_into().unwrap());
    kill(id, Signal::SIGTERM).unwrap();
    let reason = Answer::of(&child.wait_with_output().unwrap()).reason();
    assert!(matches!(reason, Reason::DeployDied { .. }), "{reason}");
}

#[test]
fn substituted_commit_is_refused() {
    let world = world();
    let [wanted, other] =
        [2, 3].map(|version| world.publish(&Image::new(version), Some(&keys().trusted)));
    // With a signature that is good for what comes.
    for kind in ["commit", "commitmeta"] {
        fs::copy(
            object(&world, other.as_str(), kind),
            object(&world, wanted.as_str(), kind),
        )
        .unwrap();
    }
    let reason = refused(&world, &pinned(wanted.as_str()), &["remote", REMOTE]);
    assert!(is_away(&reason), "{reason}");
}

#[test]
fn the_signature_of_another_commit_is_none() {
    let world = world();
    let signed = world.publish(&Image::new(2), Some(&keys().trusted));
    let unsigned = world.publish(&Image::new(3), None);
    let signature = |commit: &Digest| object(&world, commit.as_str(), "commitmeta");
    fs::copy(signature(&signed), signature(&unsigned)).unwrap();
    let words = ["remote", REMOTE, unsigned.as_str(), "trusted key"];
    let reason = refused(&world, &pinned(unsigned.as_str()), &words);
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
}

#[test]
fn substituted_file_is_refused_and_the_true_one_fetched_later() {
    let world = world();
    let commit = world.publish(
        &Image::new(2).with("usr/bin/evil", b"evil"),
        Some(&keys().trusted),
    );
    let kubelet = file(&world, &commit, "/usr/bin/kubelet");
    let honest = fs::read(&kubelet).unwrap();
    fs::copy(file(&world, &commit, "/usr/bin/evil"), &kubelet).unwrap();
    let reason = refused(&world, &pinned(commit.as_str()), &["remote", REMOTE]);
    assert!(is_away(&reason), "{reason}");
    fs::write(&kubelet, honest).unwrap();
    world.fetch(&commit).fetched();
    world.verb("verify", &commit).verified();
}

#[test]
fn deploy_uses_the_fetched_commit_after_refs_have_moved() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("verify", &commit).verified();
    let other = world.publish(&Image::new(3), Some(&keys().trusted));
    let ours = upgrade::names::TARGET_REF;
    let repo = world.path("repo");
    world.ostree(&[
        &world.local(),
        "pull-local",
        repo.to_str().unwrap(),
        other.as_str(),
    ]);
    world.ostree(&[
        &world.local(),
        "refs",
        "--force",
        &format!("--create={ours}"),
        other.as_str(),
    ]);
    let made = world.verb("deploy", &commit).deployed();
    assert_eq!(made.digest, commit);
    assert_eq!(world.order(), [world.installed.as_str(), commit.as_str()]);
}
