//! The deployment asks once more whether the commit is signed: between the fetch and it lie hours
//! or days.

use std::fs;

use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::Image;
use crate::keys::keys;
use crate::registry;
use crate::world::{BRANCH, REMOTE, World, world};

fn deploy(world: &World, commit: &Digest, flags: &[&str]) -> Result<(), Reason> {
    let arguments = [&["deploy", "--commit", commit.as_str()], flags].concat();
    world.run(&arguments).verdict.map(drop)
}

/// A remote whose key is in a file of its own.
fn remote_with_a_key_file(world: &World) -> std::path::PathBuf {
    let ring = world.path("ring.gpg");
    fs::copy(&keys().ring, &ring).unwrap();
    world.add_remote("site", &[&format!("--set=gpgkeypath={}", ring.display())]);
    ring
}

fn fetch_from(world: &World, remote: &str, commit: &Digest, flags: &[&str]) {
    let from = ["fetch", "--remote", remote, "--ref", BRANCH];
    let arguments = [&from, &["--commit", commit.as_str()][..], flags].concat();
    world.run(&arguments).fetched();
}

#[test]
fn a_commit_that_is_signed_still_is_deployed() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    deploy(&world, &commit, &["--remote", REMOTE]).unwrap();
    assert_eq!(world.order().len(), 2);
}

#[test]
fn a_key_removed_since_the_fetch_refuses_the_deployment() {
    let world = world();
    let ring = remote_with_a_key_file(&world);
    let commit = world.publish(&Image::new(2), Some(&keys().trusted));
    fetch_from(&world, "site", &commit, &[]);
    fs::remove_file(&ring).unwrap();
    let reason = deploy(&world, &commit, &["--remote", "site"]).unwrap_err();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    assert_eq!(world.order(), [world.installed.as_str()]);
}

#[test]
fn a_remote_that_lost_its_key_refuses_the_deployment() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let ring = world
        .root()
        .join(format!("ostree/repo/{REMOTE}.trustedkeys.gpg"));
    fs::remove_file(ring).unwrap();
    let reason = deploy(&world, &commit, &["--remote", REMOTE]).unwrap_err();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    assert_eq!(world.order(), [world.installed.as_str()]);
}

#[test]
fn unsigned_content_is_deployed_only_as_the_policy_allows() {
    let world = world();
    world.add_remote("loose", &["--no-gpg-verify"]);
    let commit = world.publish(&Image::new(2), None);
    fetch_from(&world, "loose", &commit, &["--unsigned"]);
    let reason = deploy(&world, &commit, &["--remote", "loose"]).unwrap_err();
    let remote = "loose".to_owned();
    assert_eq!(reason, Reason::VerificationOff { remote });
    deploy(&world, &commit, &["--remote", "loose", "--unsigned"]).unwrap();
    // It is there by now, and is asked about all the same.
    let reason = deploy(&world, &commit, &["--remote", "loose"]).unwrap_err();
    assert!(matches!(reason, Reason::VerificationOff { .. }), "{reason}");
}

#[test]
fn a_remote_that_is_gone_vouches_for_nothing() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.ostree(&[&world.local(), "remote", "delete", REMOTE]);
    let reason = deploy(&world, &commit, &["--remote", REMOTE]).unwrap_err();
    assert!(matches!(reason, Reason::UnknownRemote { .. }), "{reason}");
}

#[test]
fn a_container_image_is_held_to_the_keyring_of_the_policy() {
    let shop = registry::shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.fetch_with(&image, &["--unsigned"]).fetched();
    let asked = |flags: &[&str]| {
        let flags = [&["--commit", commit.as_str()], flags].concat();
        shop.deploy(&image, &flags).verdict.map(drop)
    };
    let reason = asked(&["--signed-by", REMOTE]).unwrap_err();
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
    let reason = asked(&[]).unwrap_err();
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
    assert_eq!(shop.world.order(), [shop.world.installed.as_str()]);
    asked(&["--unsigned"]).unwrap();
    let (signed, commit) = shop.offer_signed(&Image::new(3));
    shop.fetch(&signed).fetched();
    let flags = ["--commit", commit.as_str(), "--signed-by", REMOTE];
    shop.deploy(&signed, &flags).verdict.unwrap();
}
