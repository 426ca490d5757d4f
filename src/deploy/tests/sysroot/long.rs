//! A node's long life: upgrade after upgrade, every fourth one taken back. The disk stays as full
//! as it was, and no run wants more memory or says more than those at the beginning.
//! `CAREEN_UPGRADES=100 cargo test -p careen-deploy --test sysroot long -- --nocapture` makes a
//! hundred; a test makes a few.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use host::record::Store;
use upgrade::id::Digest;
use upgrade::record::Upgrade;
use upgrade::target::RawRequest;
use upgrade::{Deployment, Record, RecordStore};

use crate::image::Image;
use crate::keys::keys;
use crate::run::Answer;
use crate::traced::{Traced, Way};
use crate::world::{BRANCH, REMOTE, World, fetching, world};

/// What an upgrade may leave on the disk for good, in per cent of what was there.
const GROWTH: u64 = 1;
/// What a run may want or say beyond those at the beginning, in per cent: pages that libraries
/// share come and go.
const SWAY: u64 = 25;
/// By which a record may grow, in bytes: counters have more digits in time.
const DIGITS: u64 = 16;

/// How full the disk is: files, bytes in blocks of their own, kernels on /boot, deployments, notes
/// of ours with the record, and what the record takes.
#[derive(Debug)]
struct Fill {
    files: usize,
    bytes: u64,
    kernels: usize,
    deployments: usize,
    notes: usize,
    record: u64,
}

impl Fill {
    fn of(world: &World) -> Self {
        let root = world.root();
        let count = |below: &str| fs::read_dir(root.join(below)).unwrap().count();
        let record = ["record.a", "record.b"].map(|name| root.join("ostree/careen").join(name));
        let length = |copy: &Path| fs::metadata(copy).unwrap().len();
        let mut blocks = BTreeMap::new();
        add(&root, &mut blocks);
        Self {
            files: world.disk().len(),
            bytes: blocks.values().sum(),
            kernels: count("boot/ostree"),
            deployments: world.order().len(),
            notes: count("ostree/careen"),
            record: record.iter().map(|copy| length(copy)).sum(),
        }
    }
}

/// The most that a run of each verb has had in memory, in KiB, and has told systemd's journal, in
/// bytes.
#[derive(Clone, Debug, Default)]
struct Cost(BTreeMap<String, [u64; 2]>);

impl Cost {
    /// Runs it, and keeps what it cost where that is more.
    fn of(&mut self, world: &World, arguments: &[&str]) -> Answer {
        let run = Traced::start(world.command(arguments), Way::AtItsEnd);
        let mut memory = 0;
        let status = loop {
            match run.next() {
                Ok(stop) => {
                    if stop.is_the_last() {
                        memory = memory.max(peak(stop.thread));
                    }
                    run.resume(stop.thread, stop.signal());
                }
                Err(status) => break status,
            }
        };
        let output = run.output(status);
        let said = output.stderr.len() as u64;
        let most = self.0.entry(arguments[0].to_owned()).or_default();
        *most = [most[0].max(memory), most[1].max(said)];
        Answer::of(&output)
    }

    /// The verbs that cost more than they did.
    fn beyond(&self, first: &Self) -> Vec<String> {
        let more = self.0.iter().filter(|(verb, now)| {
            let bounds = first.0[*verb].map(|most| most + most * SWAY / 100);
            now.iter().zip(bounds).any(|(now, bound)| *now > bound)
        });
        more.map(|(verb, now)| format!("{verb}: {now:?} of {:?}", first.0[verb]))
            .collect()
    }
}

/// The most memory that a process has had (proc(5), `VmHWM`).
fn peak(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().strip_suffix(" kB");
    kib.unwrap().parse().unwrap()
}

/// Each file once, under however many names: a checkout links what the repository has. Folders do
/// not count: the repository keeps its 256 when they are empty.
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

/// What the agent writes when it has begun, and when it is done: the record is of this upgrade
/// alone.
fn store(world: &World, generation: u64, deployment: &Deployment) {
    let image = format!("ostree:{REMOTE}:{BRANCH}@{}", deployment.digest);
    let request = RawRequest::scheduled(&image);
    let id = format!("upgrade-{generation:06}").parse().unwrap();
    let target = image.parse().unwrap();
    let record = Record {
        generation,
        upgrade: Some(Upgrade::new(id, request, target, deployment.clone())),
        answered: generation,
        ..Record::default()
    };
    Store::new(&world.root()).store(&record).unwrap();
}

fn upgrade(world: &World, version: u32, cost: &mut Cost) {
    let commit: Digest = world.publish(&Image::new(version), Some(&keys().trusted));
    let of_it = |verb| [verb, "--commit", commit.as_str()];
    cost.of(world, &fetching(&commit)).fetched();
    cost.of(world, &of_it("verify")).verified();
    let made = cost.of(world, &of_it("deploy")).deployed();
    store(world, u64::from(version) * 2, &made);
    if version.is_multiple_of(4) {
        cost.of(world, &of_it("undo")).verdict.unwrap();
    } else {
        cost.of(world, &of_it("bless")).verdict.unwrap();
        cost.of(world, &["clean"]).verdict.unwrap();
        assert_eq!(world.order()[0], commit.as_str());
    }
    store(world, u64::from(version) * 2 + 1, &made);
}

#[test]
fn repeated_upgrades_keep_disk_use_and_run_cost_constant() {
    let upgrades = std::env::var("CAREEN_UPGRADES").ok();
    let last = upgrades.map_or(9, |number| number.parse().unwrap()) + 1;
    let (world, mut early, mut late) = (world(), Cost::default(), Cost::default());
    // Two systems are kept, so the disk is as full as it gets after the second. The fourth is the
    // first to be taken back.
    (2..=3).for_each(|version| upgrade(&world, version, &mut early));
    let first = Fill::of(&world);
    for version in 4..=last {
        let cost = if version == 4 { &mut early } else { &mut late };
        upgrade(&world, version, cost);
        let fill = Fill::of(&world);
        assert_eq!(
            (fill.files, fill.kernels, fill.deployments, fill.notes),
            (first.files, first.kernels, first.deployments, first.notes),
            "after {version}"
        );
        let bound = first.bytes + first.bytes * GROWTH / 100;
        assert!(
            fill.bytes <= bound && fill.record <= first.record + DIGITS,
            "after {version}: {fill:?} of {first:?}"
        );
        assert_eq!(late.beyond(&early), [""; 0], "after {version}");
    }
    println!(
        "after upgrade 2: {first:?}, {early:?}, after {}: {:?}, {late:?}",
        last - 1,
        Fill::of(&world)
    );
}
