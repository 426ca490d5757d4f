//! The story once with the power on: every write and flush of both disks, and how the node looked
//! after each step.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;

use host::boot;
use upgrade::id::Digest;

use crate::disk::{Disk, Log, Op, Which};
use crate::generator::generator;
use crate::image::Image;
use crate::keys::keys;
use crate::node::{Node, formatted};
use crate::shelf::Shelf;
use crate::story::{self, Act, Seen};
use crate::world::{World, remote_alone};

/// A step of the story as it went with the power on.
pub struct Told {
    pub index: usize,
    pub act: Act,
    pub before: Seen,
    pub after: Seen,
    /// The operations that the disks had been given when it was done.
    pub end: usize,
}

/// What a commit's deployment must hold.
#[derive(Default)]
pub struct Trees {
    pub usr: Vec<String>,
    /// /etc at each of its times.
    pub etc: Vec<Vec<String>>,
}

/// All that cuts are made from.
pub struct Recording {
    pub base: [Disk; 2],
    pub log: Vec<Op>,
    pub told: Vec<Told>,
    pub trees: HashMap<String, Trees>,
}

impl Recording {
    /// The step in which, or right before which, so many operations had been given.
    pub fn told_at(&self, operations: usize) -> &Told {
        let within = self.told.iter().find(|told| told.end > operations);
        within.or(self.told.last()).unwrap()
    }
}

/// A node with image 1 on two disks that are let go of, clean.
fn installed(shelf: &Shelf) -> (World, [Disk; 2]) {
    let mut world = remote_alone();
    world.generator = Some(generator().to_owned());
    let numbers = formatted(shelf);
    let node = Node::start(shelf, &world.root(), numbers).unwrap();
    let world = world.with_first_image();
    prepare_grub(&world);
    drop(node);
    (world, numbers.map(|number| shelf.take(number)))
}

/// As an installer leaves it: libostree calls our generator, and GRUB finds the file that it swaps.
fn prepare_grub(world: &World) {
    let local = world.local();
    world.ostree(&[&local, "config", "set", "sysroot.bootloader", "grub2"]);
    let boot = world.root().join("boot");
    fs::create_dir_all(boot.join("grub")).unwrap();
    let mut block = b"# GRUB Environment Block\n".to_vec();
    block.resize(host::loader::grub::LENGTH, b'#');
    fs::write(boot.join("grub/grubenv"), block).unwrap();
    let mut grub = std::process::Command::new(generator());
    crate::run::succeed(grub.arg("-o").arg(boot.join("loader/grub.cfg")));
    symlink("../loader/grub.cfg", boot.join("grub/grub.cfg")).unwrap();
    story::Act::Store(0, None).perform(world).unwrap();
}

/// Tells a story of two images once with the power on.
pub fn record(shelf: &Shelf, story: impl Fn(&Digest, &Digest) -> Vec<Act>) -> (World, Recording) {
    let (mut world, base) = installed(shelf);
    world.boot_id = Some("before the cut");
    let [second, third] = [2, 3].map(|n| world.publish(&Image::new(n), Some(&keys().trusted)));
    let log = Log::default();
    let disks = [(Which::Root, &base[0]), (Which::Boot, &base[1])];
    let numbers = disks.map(|(which, disk)| shelf.lend(disk.clone(), Some((which, log.clone()))));
    let node = Node::start(shelf, &world.root(), numbers).unwrap();
    let mut told = Vec::new();
    let mut trees = HashMap::new();
    let mut before = story::observe(&world).unwrap();
    remember(&world, &mut trees);
    for (index, act) in story(&second, &third).into_iter().enumerate() {
        act.perform(&world).unwrap();
        let end = log.lock().unwrap().len();
        let after = story::observe(&world).unwrap();
        remember(&world, &mut trees);
        told.push(Told {
            index,
            act,
            before,
            after: after.clone(),
            end,
        });
        before = after;
    }
    drop(node);
    world.boot_id = Some("after the cut");
    let log = std::mem::take(&mut *log.lock().unwrap());
    let recording = Recording {
        base,
        log,
        told,
        trees,
    };
    (world, recording)
}

fn remember(world: &World, trees: &mut HashMap<String, Trees>) {
    let places = story::places(world);
    for one in boot::deployments(&places).unwrap() {
        let [usr, etc] = story::trees(&one.folder).unwrap();
        let known = trees.entry(one.deployment.digest.to_string()).or_default();
        known.usr = usr;
        known.etc.push(etc);
    }
}
