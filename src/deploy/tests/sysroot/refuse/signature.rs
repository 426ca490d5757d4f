//! Images that are not signed as the remote demands.

use std::fs;

use upgrade::Reason;

use super::{fetch, pinned, refused, refused_with};
use crate::image::Image;
use crate::keys::{gpg, keys};
use crate::run::{Answer, succeed};
use crate::world::{BRANCH, REMOTE, World, world};

/// Names the folder that libostree reads in place of /usr/share/ostree/trusted.gpg.d.
const KEYS_OF_ALL_REMOTES: &str = "OSTREE_GPG_HOME";

#[test]
fn a_commit_without_a_signature_is_refused() {
    let world = world();
    let commit = world.publish(&Image::new(2), None);
    let reason = refused(
        &world,
        &fetch(REMOTE, BRANCH),
        &["remote", REMOTE, "signed"],
    );
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
    let words = ["remote", REMOTE, "commit", commit.as_str(), "signed"];
    let reason = refused(&world, &pinned(commit.as_str()), &words);
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
}

#[test]
fn a_commit_signed_by_a_stranger_is_refused() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().stranger));
    let words = ["remote", REMOTE, commit.as_str(), "trusted key"];
    let reason = refused(&world, &pinned(commit.as_str()), &words);
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
}

#[test]
fn missing_gpgkeypath_file_is_named() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    let ring = keys().ring.display();
    for (remote, paths) in [
        ("alone", "/nowhere/key.gpg".to_owned()),
        ("first", format!("/nowhere/key.gpg,{ring}")),
        ("last", format!("{ring};/nowhere/key.gpg;")),
    ] {
        world.add_remote(remote, &[&format!("--set=gpgkeypath={paths}")]);
        let by_commit = [&fetch(remote, BRANCH)[..], &["--commit", commit.as_str()]].concat();
        for arguments in [fetch(remote, BRANCH), by_commit] {
            let words = [remote, "gpgkeypath", "/nowhere/key.gpg"];
            let reason = refused(&world, &arguments, &words);
            assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
        }
    }
    world.add_remote("there", &[&format!("--set=gpgkeypath={ring};{ring}")]);
    let fetched = world.run(&fetch("there", BRANCH)).fetched();
    assert_eq!(fetched.0, commit);
}

/// A folder with the stranger's key.
fn with_the_strangers_key(world: &World) -> String {
    let folder = world.path("trusted.gpg.d");
    fs::create_dir(&folder).unwrap();
    let mut export = gpg(&keys().home);
    export.arg("--output").arg(folder.join("stranger.gpg"));
    succeed(export.args(["--export", &keys().stranger]));
    folder.to_str().unwrap().to_owned()
}

#[test]
fn a_key_for_all_remotes_counts_unless_the_remote_has_a_keyring() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().stranger));
    let folder = with_the_strangers_key(&world);
    let environment = [(KEYS_OF_ALL_REMOTES, folder.as_str())];
    let words = ["remote", REMOTE, commit.as_str(), "trusted key"];
    let reason = refused_with(&world, &pinned(commit.as_str()), &environment, &words);
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    let ring = keys().ring.display();
    world.add_remote("by-path", &[&format!("--set=gpgkeypath={ring}")]);
    let mut command = world.command(&fetch("by-path", BRANCH));
    let answer = Answer::of(&command.envs(environment).output().unwrap());
    assert_eq!(answer.fetched().0, commit);
}

#[test]
fn an_unsigned_commit_that_lies_here_already_is_refused_too() {
    let world = world();
    let commit = world.publish(&Image::new(2), None);
    world.ostree(&[
        &world.local(),
        "pull-local",
        world.path("repo").to_str().unwrap(),
        commit.as_str(),
    ]);
    let words = ["remote", REMOTE, "commit", commit.as_str(), "signed"];
    let reason = refused(&world, &pinned(commit.as_str()), &words);
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
}

#[test]
fn remote_without_verification_is_refused_unless_allowed() {
    let world = world();
    world.add_remote("loose", &["--no-gpg-verify"]);
    let commit = world.publish(&Image::new(2), None);
    let words = ["remote", "loose", "gpg-verify=false", "unsigned = true"];
    let reason = refused(&world, &fetch("loose", BRANCH), &words);
    let remote = "loose".to_owned();
    assert_eq!(reason, Reason::VerificationOff { remote });
    let allowed = [&fetch("loose", BRANCH)[..], &["--unsigned"]].concat();
    assert_eq!(world.run(&allowed).fetched().0, commit);
}

#[test]
fn unsigned_flag_does_not_disable_a_remotes_verification() {
    let world = world();
    world.publish(&Image::new(2), None);
    let unsigned = [&fetch(REMOTE, BRANCH)[..], &["--unsigned"]].concat();
    let reason = refused(&world, &unsigned, &["remote", REMOTE, "signed"]);
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
}
