//! Flipped bytes in each kind of the repository's objects, and in the kernel on /boot.

use std::fs;
use std::path::{Path, PathBuf};

use host::{Places, kernel};
use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::Image;
use crate::world::{World, flip, world};

/// Fills a file with other bytes and leaves its other names alone: the first image's objects are
/// links to the remote's.
fn flip_here(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).unwrap();
    fs::rename(&copy, path).unwrap();
    flip(path);
}

/// The commit itself, the list of its root folder, and that folder's owner and rights, an object
/// that the running system shares.
fn objects(world: &World, commit: &Digest) -> [PathBuf; 3] {
    let checksums = |path: &str, at: usize| {
        let listing = world.ostree(&[&world.local(), "ls", "-d", "-C", commit.as_str(), path]);
        listing.split_whitespace().nth(at).unwrap().to_owned()
    };
    let object = |checksum: &str, kind: &str| {
        let (folder, name) = checksum.split_at(2);
        let objects = world.root().join("ostree/repo/objects");
        objects.join(folder).join(format!("{name}.{kind}"))
    };
    [
        object(commit.as_str(), "commit"),
        object(&checksums("/", 4), "dirtree"),
        object(&checksums("/", 5), "dirmeta"),
    ]
}

#[test]
fn verify_finds_damage_in_any_object_and_a_refetch_repairs_it() {
    let world = world();
    for kind in 0..3 {
        let commit = world.fetched(&Image::new(2));
        let object = &objects(&world, &commit)[kind];
        flip_here(object);
        let reason = world.verb("verify", &commit).reason();
        let name = object.display();
        assert!(matches!(reason, Reason::Damaged { .. }), "{name}: {reason}");
        world.verb("undo", &commit).verdict.unwrap();
        world.fetch(&commit).fetched();
        world.verb("verify", &commit).verified();
        world.verb("undo", &commit).verdict.unwrap();
    }
}

#[test]
fn a_kernel_that_rotted_on_boot_is_known_by_its_checksum() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let made = world.verb("deploy", &commit).deployed();
    let (places, folder) = (
        Places::physical(&world.root()),
        world.deployment(&commit, 0),
    );
    let check = || kernel::check(&places, &folder, &made.stateroot, &made.bootcsum);
    assert_eq!(check(), Ok(()));
    let kernel = format!("boot/ostree/node-{}", made.bootcsum);
    let files = fs::read_dir(world.root().join(kernel)).unwrap();
    for file in files.map(|entry| entry.unwrap().path()) {
        flip(&file);
        assert!(check().is_err(), "{}", file.display());
        flip(&file);
        assert_eq!(check(), Ok(()));
    }
}
