//! A node's long life: upgrade after upgrade, every fourth one taken back, and the disk stays as full as it was.
//! `CAREEN_UPGRADES=100 cargo test -p careen-deploy --test sysroot long -- --nocapture` makes a hundred; a test makes a few.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::image::Image;
use crate::world::{World, world};

/// What an upgrade may leave on the disk for good, in per cent of what was there.
const GROWTH: u64 = 1;

/// How full the disk is: files, bytes in blocks of their own, kernels on /boot, deployments, notes of ours.
#[derive(Debug)]
struct Fill {
    files: usize,
    bytes: u64,
    kernels: usize,
    deployments: usize,
    notes: usize,
}

impl Fill {
    fn of(world: &World) -> Self {
        let root = world.root();
        let count = |below: &str| fs::read_dir(root.join(below)).unwrap().count();
        let mut blocks = BTreeMap::new();
        add(&root, &mut blocks);
        Self {
            files: world.disk().len(),
            bytes: blocks.values().sum(),
            kernels: count("boot/ostree"),
            deployments: world.order().len(),
            notes: count("ostree/careen"),
        }
    }
}

/// Each file once, under however many names: a checkout links what the repository has. Folders do not count: the repository keeps
/// its 256 when they are empty.
fn add(folder: &Path, blocks: &mut BTreeMap<u64, u64>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = path.symlink_metadata().unwrap();
        if facts.is_dir() {
            add(&path, blocks);
        } else {
            blocks.insert(facts.ino(), facts.blocks() * 512);
        }
    }
}

fn upgrade(world: &World, version: u32) {
    let commit = world.fetched(&Image::new(version));
    world.verb("deploy", &commit).deployed();
    if version.is_multiple_of(4) {
        world.verb("undo", &commit).verdict.unwrap();
        return;
    }
    world.verb("bless", &commit).verdict.unwrap();
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!(world.order()[0], commit.as_str());
}

#[test]
fn upgrade_after_upgrade_the_disk_stays_as_full_as_it_was() {
    let upgrades = std::env::var("CAREEN_UPGRADES").ok();
    let last = upgrades.map_or(9, |number| number.parse().unwrap()) + 1;
    let world = world();
    // Two systems are kept, so the disk is as full as it gets after the second.
    (2..=3).for_each(|version| upgrade(&world, version));
    let first = Fill::of(&world);
    for version in 4..=last {
        upgrade(&world, version);
        let fill = Fill::of(&world);
        assert_eq!(
            (fill.files, fill.kernels, fill.deployments, fill.notes),
            (first.files, first.kernels, first.deployments, first.notes),
            "after {version}"
        );
        let bound = first.bytes + first.bytes * GROWTH / 100;
        assert!(
            fill.bytes <= bound,
            "after {version}: {fill:?} of {first:?}"
        );
    }
    println!(
        "after upgrade 2: {first:?}, after {}: {:?}",
        last - 1,
        Fill::of(&world)
    );
}
