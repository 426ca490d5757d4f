//! Clocks that are wrong: the one that dated an image, and the one that signatures are held
//! against.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::SystemTime;

use tempfile::TempDir;
use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::Image;
use crate::keys::keys;
use crate::refuse::refused;
use crate::run::succeed;
use crate::world::{BRANCH, World, world};

/// Publishes an image with this date in its commit.
fn dated(world: &World, version: u32, date: &str) -> Digest {
    let commit = world.publish(&Image::new(version), None);
    let keys = keys();
    let mut command = Command::new("ostree");
    command
        .arg(format!("--repo={}", world.path("repo").display()))
        .args(["commit", "-b", BRANCH, "--timestamp", date])
        .arg(format!("--tree=ref={commit}"))
        .arg(format!("--gpg-sign={}", keys.trusted))
        .arg(format!("--gpg-homedir={}", keys.home.display()));
    succeed(&mut command).trim().parse().unwrap()
}

#[test]
fn an_image_dated_1970_and_one_dated_2040_are_upgraded_to_alike() {
    let world = world();
    let dates = ["1970-01-01 00:00:01 +0000", "2040-01-01 00:00:00 +0000"];
    // The third goes back from 2040: careen-deploy does what it is told, the brain judges dates
    // (`OlderImage`).
    for (version, date) in (2..).zip([dates[0], dates[1], dates[0]]) {
        let commit = dated(&world, version, date);
        world.fetch(&commit).fetched();
        world.verb("verify", &commit).verified();
        world.verb("deploy", &commit).deployed();
        world.verb("bless", &commit).verdict.unwrap();
        world.run(&["clean"]).verdict.unwrap();
        assert_eq!(world.order()[0], commit.as_str());
    }
}

const SIGNER: &str = "clock@careen.test";

/// A keyring whose gpg takes it to be this year, with one key that is good for three.
fn keyring_of(year: u16) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o700)).unwrap();
    // Standing still: else the key may be a second younger than the next command's beginning.
    let then = format!("faked-system-time {year}0101T000000!\n");
    fs::write(home.path().join("gpg.conf"), then).unwrap();
    let gpg = |arguments: &[&str]| {
        let mut gpg = Command::new("gpg");
        gpg.args(["--batch", "--quiet", "--yes", "--homedir"])
            .arg(home.path())
            .args(arguments);
        succeed(&mut gpg)
    };
    let new = ["--quick-generate-key", SIGNER, "ed25519", "sign", "3y"];
    gpg(&[&["--passphrase", ""], &new[..]].concat());
    let ring = home.path().join("ring.gpg");
    gpg(&["--output", ring.to_str().unwrap(), "--export", SIGNER]);
    home
}

/// An image that is signed by a key of this year, on a remote that is verified by it; and the
/// keyring.
fn signed_in(year: u16) -> (World, Digest, TempDir) {
    let (world, home) = (world(), keyring_of(year));
    let ring = home.path().join("ring.gpg");
    // As an image brings it: a key from the future cannot be imported.
    world.add_remote("clock", &[&format!("--set=gpgkeypath={}", ring.display())]);
    let commit = world.publish(&Image::new(2), None);
    let mut sign = Command::new("ostree");
    sign.arg(format!("--repo={}", world.path("repo").display()))
        .args(["gpg-sign", commit.as_str(), SIGNER])
        .arg(format!("--gpg-homedir={}", home.path().display()));
    succeed(&mut sign);
    (world, commit, home)
}

fn from_there(commit: &Digest) -> [&str; 7] {
    [
        "fetch",
        "--remote",
        "clock",
        "--ref",
        BRANCH,
        "--commit",
        commit.as_str(),
    ]
}

/// What is said of such an image. Nothing has changed.
fn refused_by_the_clock(year: u16) -> Reason {
    let (world, commit, _home) = signed_in(year);
    let said = ["clock", commit.as_str(), "signature"];
    refused(&world, &from_there(&commit), &said)
}

#[test]
fn a_key_of_this_time_is_good() {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    // Of last year, or around New Year of the one before.
    let year = u16::try_from(1969 + since / (365 * 86_400 + 20_952)).unwrap();
    let (world, commit, _home) = signed_in(year);
    world.run(&from_there(&commit)).fetched();
}

#[test]
fn key_expired_by_the_nodes_clock_is_refused() {
    let reason = refused_by_the_clock(2010);
    assert_eq!(reason.code(), "WrongSignature", "{reason}");
}

#[test]
fn key_from_the_future_by_the_nodes_clock_is_refused() {
    let reason = refused_by_the_clock(2090);
    assert_eq!(reason.code(), "WrongSignature", "{reason}");
}

#[test]
fn an_image_is_verified_beside_the_time_of_the_running_one() {
    let world = world();
    let time = |seconds: u64| format!("@{seconds}");
    let first = dated(&world, 2, &time(2_000));
    world.fetch(&first).fetched();
    world.verb("verify", &first).verified();
    world.verb("deploy", &first).deployed();
    world.verb("bless", &first).verdict.unwrap();
    let second = dated(&world, 3, &time(1_000));
    world.fetch(&second).fetched();
    let facts = world.verb("verify", &second).verified();
    assert_eq!((facts.timestamp, facts.running), (1_000, Some(2_000)));
}
