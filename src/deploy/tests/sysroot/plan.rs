//! What an upgrade would change is told without one, and leaves nothing behind.

use std::fs;

use upgrade::Reason;
use upgrade::id::Digest;
use upgrade::plan::Found;

use crate::image::{Image, noise};
use crate::keys::keys;
use crate::world::{BRANCH, REMOTE, World, world};

pub const LIST: &str = "usr/lib/sysimage/dpkg/status";

/// dpkg's list of these packages: name, version, KiB.
pub fn list(packages: &[(&str, &str, u32)]) -> Vec<u8> {
    let one = |(name, version, size): &(&str, &str, u32)| {
        format!(
            "Package: {name}\nStatus: install ok installed\nInstalled-Size: {size}\nVersion: {version}\n\n"
        )
    };
    packages.iter().map(one).collect::<String>().into_bytes()
}

pub fn plan(world: &World, more: &[&str]) -> Result<Found, Reason> {
    let arguments = [&["plan", "--remote", REMOTE, "--ref", BRANCH], more].concat();
    world.run(&arguments).planned()
}

/// A node that runs image 2 with this list of packages, and an image 3 with that one.
pub fn with_lists(before: &[u8], after: &Image) -> (World, Digest) {
    let world = world();
    let second = world.fetched(&Image::new(2).with(LIST, before));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    world.verb("undo", &second).verdict.unwrap();
    let third = world.publish(after, Some(&keys().trusted));
    (world, third)
}

#[test]
fn plan_reads_versions_from_a_small_part_of_the_image() {
    let before = list(&[("bash", "5.2", 7), ("kubelet", "1.2.0", 100)]);
    let after = list(&[
        ("bash", "5.2", 7),
        ("kubelet", "1.3.0", 90),
        ("new", "1", 5),
    ]);
    let after = Image::new(3)
        .with(LIST, &after)
        .with("usr/share/big", &noise(9, 3_000_000));
    let (world, third) = with_lists(&before, &after);
    let sent = world.server.sent();
    let found = plan(&world, &["--commit", third.as_str()]).unwrap();
    let sent = world.server.sent() - sent;
    assert!(
        sent < 1_000_000,
        "{sent} bytes, and the image has more than 3 MB"
    );
    let told: Vec<_> = found
        .packages
        .iter()
        .map(|one| (one.name.as_str(), one.change.to.as_deref(), one.bytes))
        .collect();
    let expected = [
        ("kubelet", Some("1.3.0"), -10 * 1024),
        ("new", Some("1"), 5 * 1024),
    ];
    assert_eq!(told, expected);
    let info = found.facts.info.unwrap();
    assert_eq!(info.kubernetes.to_string(), "v1.3.0");
    assert_eq!(found.facts.kernel.as_deref(), Some("6.3.0"));
    assert_eq!(found.kernel.as_deref(), Some("6.2.0"));
    assert!(found.facts.boot.need > 500_000, "{:?}", found.facts.boot);
    assert!(found.facts.root.fits() && found.facts.boot.fits());
}

#[test]
fn plan_leaves_nothing_and_the_planned_image_can_be_deployed() {
    let before = list(&[("bash", "5.2", 7)]);
    let (world, third) = with_lists(&before, &Image::new(3).with(LIST, &before));
    let disk = world.disk();
    plan(&world, &[]).unwrap();
    assert_eq!(world.disk(), disk);
    let refs = world.ostree(&[&world.local(), "refs"]);
    assert!(
        !refs.contains("careen/") && !refs.contains(BRANCH),
        "{refs}"
    );
    world.fetch(&third).fetched();
    world.verb("verify", &third).verified();
    world.verb("deploy", &third).deployed();
}

#[test]
fn what_an_upgrade_has_fetched_stays_through_a_plan() {
    let before = list(&[("bash", "5.2", 7)]);
    let (world, third) = with_lists(&before, &Image::new(3).with(LIST, &before));
    world.fetch(&third).fetched();
    plan(&world, &["--commit", third.as_str()]).unwrap();
    world.verb("verify", &third).verified();
    let fourth = world.publish(&Image::new(4).with(LIST, &before), Some(&keys().trusted));
    plan(&world, &["--commit", fourth.as_str()]).unwrap();
    world.verb("verify", &third).verified();
}

#[test]
fn without_lists_folders_are_compared() {
    let world = world();
    let big = noise(9, 300_000);
    let second = Image::new(2).with("usr/share/big", &big);
    let second = world.publish(&second, Some(&keys().trusted));
    let disk = world.disk();
    let found = plan(&world, &["--commit", second.as_str()]).unwrap();
    let share = found.packages.iter().find(|one| one.name == "/usr/share");
    assert_eq!(share.unwrap().bytes, 300_000);
    assert!(found.packages.iter().all(|one| one.change.to.is_none()));
    let told: Vec<_> = found.packages.iter().map(|one| &one.name).collect();
    assert!(!told.contains(&&"/usr/nothing".to_owned()), "{told:?}");
    assert_eq!(world.disk(), disk);
}

#[test]
fn files_of_etc_that_both_have_changed_are_named_and_no_others() {
    let world = world();
    fs::write(world.etc("hosts"), "mine").unwrap();
    fs::write(world.etc("own"), "mine").unwrap();
    fs::write(world.etc("both"), "mine").unwrap();
    let image = Image::new(2).with("usr/etc/both", b"theirs");
    let commit = world.publish(&image, Some(&keys().trusted));
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    // os-release is the image's alone, hosts and own the node's.
    assert_eq!(found.etc_conflicts, ["/etc/both"]);
    assert_eq!(found.etc_refusal, None);
    let image = Image::new(3).with("usr/etc/own/part", b"a folder there");
    let commit = world.publish(&image, Some(&keys().trusted));
    let refusal = plan(&world, &["--commit", commit.as_str()])
        .unwrap()
        .etc_refusal;
    let refusal = refusal.unwrap();
    assert!(matches!(refusal, Reason::EtcMerge { .. }), "{refusal}");
}

#[test]
fn what_is_deployed_here_needs_no_remote() {
    let world = world();
    world.server.go_away();
    let installed = world.installed.clone();
    let kept = ["plan", "--remote", "kept", "--ref", "kept", "--commit"];
    let found = world.run(&[&kept[..], &[installed.as_str()]].concat());
    let found = found.planned().unwrap();
    assert_eq!((found.facts.commit, found.packages.len()), (installed, 0));
}

#[test]
fn an_image_that_may_not_be_fetched_is_not_looked_at() {
    let world = world();
    let before = world.disk();
    let unsigned = world.publish(&Image::new(2), None);
    let reason = plan(&world, &["--commit", unsigned.as_str()]).unwrap_err();
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
    let wrong = world.publish(&Image::new(3), Some(&keys().stranger));
    let reason = plan(&world, &["--commit", wrong.as_str()]).unwrap_err();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    let reason = plan(&world, &[]).unwrap_err();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    let nowhere = ["plan", "--remote", "elsewhere", "--ref", BRANCH];
    let reason = world.run(&nowhere).planned().unwrap_err();
    assert!(matches!(reason, Reason::UnknownRemote { .. }), "{reason}");
    assert_eq!(world.disk(), before);
}

#[test]
fn an_image_that_says_nothing_of_itself_is_told_so() {
    let world = world();
    let bare = Image {
        info: None,
        kernel: None,
        ..Image::new(2)
    };
    let commit = world.publish(&bare, Some(&keys().trusted));
    let found = plan(&world, &["--commit", commit.as_str()]).unwrap();
    assert_eq!((found.facts.info, found.facts.kernel), (None, None));
}
