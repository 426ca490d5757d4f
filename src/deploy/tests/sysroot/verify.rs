use std::fs;

use host::Places;
use host::critical::{CriticalFiles, Which};
use upgrade::Reason;

use crate::image::Image;
use crate::keys::keys;
use crate::world::{BRANCH, World, flip, world};

/// The object of a small file of the image, in the node's repository.
pub fn object_of(world: &World, commit: &str, path: &str) -> std::path::PathBuf {
    let listing = world.ostree(&[&world.local(), "ls", "-C", commit, path]);
    let checksum = listing.split_whitespace().nth(4).unwrap().to_owned();
    world.root().join(format!(
        "ostree/repo/objects/{}/{}.file",
        &checksum[..2],
        &checksum[2..]
    ))
}

#[test]
fn a_good_image_says_what_it_is_and_what_room_it_takes() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let facts = world.verb("verify", &commit).verified();
    let info = facts.info.clone().unwrap();
    assert_eq!(
        (info.kubernetes.to_string().as_str(), info.stage),
        ("v1.2.0", Some(1))
    );
    assert_eq!(facts.kernel.as_deref(), Some("6.2.0"));
    assert!(
        facts.boot.need > 500_000 && facts.root.need > facts.boot.need,
        "{facts:?}"
    );
    assert!(facts.boot.fits() && facts.root.fits(), "{facts:?}");
}

#[test]
fn the_branches_that_a_commit_names_are_told() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    assert_eq!(*world.verb("verify", &commit).verified().branches, [BRANCH]);
    let repo = format!("--repo={}", world.path("repo").display());
    let key = format!("--gpg-sign={}", keys().trusted);
    let home = format!("--gpg-homedir={}", keys().home.display());
    let again = ["commit", "-b", BRANCH, "--no-bindings", &key, &home];
    let tree = format!("--tree=ref={commit}");
    let unbound = world.ostree(&[&[repo.as_str()], &again[..], &[&tree]].concat());
    let unbound = unbound.trim().parse().unwrap();
    world.fetch(&unbound).fetched();
    assert!(
        world
            .verb("verify", &unbound)
            .verified()
            .branches
            .is_empty()
    );
}

#[test]
fn flipped_byte_is_found_and_the_next_fetch_repairs_it() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let object = object_of(&world, commit.as_str(), "/usr/bin/kubelet");
    flip(&object);
    let reason = world.verb("verify", &commit).reason();
    assert!(matches!(reason, Reason::Damaged { .. }), "{reason}");
    let (_, bytes) = world.fetch(&commit).fetched();
    assert!(bytes > 0 && bytes < 100_000, "{bytes}");
    world.verb("verify", &commit).verified();
}

#[test]
fn missing_object_is_found_and_the_next_fetch_restores_it() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    fs::remove_file(object_of(&world, commit.as_str(), "/usr/bin/kubelet")).unwrap();
    let reason = world.verb("verify", &commit).reason();
    assert!(matches!(reason, Reason::Damaged { .. }), "{reason}");
    world.fetch(&commit).fetched();
    world.verb("verify", &commit).verified();
}

#[test]
fn verify_finds_damage_in_a_file_shared_with_the_running_system() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    flip(
        &world
            .deployment(&world.installed, 0)
            .join("usr/lib/systemd/systemd"),
    );
    let reason = world.verb("verify", &commit).reason();
    assert!(matches!(reason, Reason::Damaged { .. }), "{reason}");
}

#[test]
fn manifest_rejects_a_critical_file_damaged_after_verify() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("verify", &commit).verified();
    let object = object_of(&world, commit.as_str(), "/usr/bin/kubelet");
    flip(&object);
    world.verb("deploy", &commit).deployed();
    let list = CriticalFiles::read(&Places::physical(&world.root()), &commit).unwrap();
    let check = |which| list.check(&world.deployment(&commit, 0), which);
    assert_eq!(check(Which::Boot), Ok(()));
    let flaw = check(Which::Rest).unwrap_err();
    assert!(flaw.contains("/usr/bin/kubelet"), "{flaw}");
    flip(&object);
    assert_eq!(check(Which::Rest), Ok(()), "as the commit names them");
}
