//! Records the story once, then cuts.

use std::collections::HashMap;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use host::boot;

use crate::cut::Cut;
use crate::disk::{Disk, Log, Op, Which};
use crate::eyes;
use crate::generator::generator;
use crate::image::Image;
use crate::judge::Bench;
use crate::keys::keys;
use crate::node::{Node, formatted, keep_mounts_private};
use crate::plan;
use crate::report::Report;
use crate::shelf::Shelf;
use crate::story::{self, Act, Seen};
use crate::world::{World, remote_alone};

/// A sample for every test run, and how long it may take.
const SAMPLE: usize = 60;
const SAMPLE_TIME: Duration = Duration::from_secs(40);
const WORKERS: usize = 2;

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
    block.resize(host::grubenv::LENGTH, b'#');
    fs::write(boot.join("grub/grubenv"), block).unwrap();
    let mut grub = std::process::Command::new(generator());
    crate::run::succeed(grub.arg("-o").arg(boot.join("loader/grub.cfg")));
    symlink("../loader/grub.cfg", boot.join("grub/grub.cfg")).unwrap();
    story::Act::Store(0, None).perform(world).unwrap();
}

/// Tells the story once with the power on.
fn record(shelf: &Shelf) -> (World, Recording) {
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
    for (index, act) in story::acts(&second, &third).into_iter().enumerate() {
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
    for one in boot::deployments(&places, &places.boot.join("loader")).unwrap() {
        let [usr, etc] = story::trees(&one.folder).unwrap();
        let known = trees.entry(one.deployment.digest.to_string()).or_default();
        known.usr = usr;
        known.etc.push(etc);
    }
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn no_power_cut_loses_a_node_or_what_it_knows() {
    keep_mounts_private();
    let shelves = tempfile::tempdir().unwrap();
    let shelf = Shelf::at(&shelves.path().join("story"));
    let (world, recording) = record(&shelf);
    let seed = number("CAREEN_POWER_SEED").unwrap_or(1);
    let count: Option<usize> = number("CAREEN_POWER_CUTS");
    let only: Option<usize> = number("CAREEN_POWER_ONLY");
    let sample = (count.is_none() && only.is_none()).then_some(SAMPLE_TIME);
    let limit = number("CAREEN_POWER_SECONDS").map(Duration::from_secs);
    let until = limit.or(sample).map(|limit| Instant::now() + limit);
    let mut cuts = plan::cuts(&recording, count.unwrap_or(SAMPLE), seed);
    cuts.retain(|cut| only.is_none_or(|only| only == cut.index));
    let in_time = || until.is_none_or(|until| Instant::now() < until);
    let (looks, unbootable) =
        eyes::look(&shelf, &recording, &shelves.path().join("eyes"), &in_time);
    println!("GRUB has looked {looks} times");
    let mut report = make(&world, &recording, shelves.path(), &cuts, seed, &in_time);
    report.broken.extend(unbootable);
    let flushes = recording
        .log
        .iter()
        .filter(|op| matches!(op, Op::Flush { .. }));
    let flushes = flushes.count();
    let json = report.json(seed, flushes, recording.log.len() - flushes, looks);
    println!("{json:#}");
    if let Ok(path) = env::var("CAREEN_POWER_JSON") {
        fs::write(path, format!("{json:#}\n")).unwrap();
    }
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
    assert!(report.cuts > 0, "not one cut in time");
}

/// Makes the cuts, by as many workers as the machine has to spare.
fn make(
    world: &World,
    recording: &Recording,
    shelves: &Path,
    cuts: &[Cut],
    seed: u64,
    in_time: &(dyn Fn() -> bool + Sync),
) -> Report {
    let (next, report) = (AtomicUsize::new(0), Mutex::new(Report::default()));
    let work = |worker: usize| {
        keep_mounts_private();
        let bench = Bench {
            world,
            recording,
            shelf: Shelf::at(&shelves.join(worker.to_string())),
            scratch: shelves.join(format!("scratch-{worker}")),
        };
        while let Some(cut) = cuts
            .get(next.fetch_add(1, Ordering::SeqCst))
            .filter(|_| in_time())
        {
            let disks = cut.disks(recording);
            let judged = catch_unwind(AssertUnwindSafe(|| bench.judge(cut, disks.clone())));
            let judged = judged.unwrap_or_else(|_| Err("the test itself fell over".to_owned()));
            if let Err(why) = &judged {
                keep(&disks, seed, cut.index);
                eprintln!("cut {}: {why}", cut.index);
            }
            let mut report = report.lock().unwrap();
            report.add(cut, recording.told_at(cut.at).act.name(), judged);
            if report.cuts % 100 == 0 {
                eprintln!(
                    "{} of {} cuts, {} broken",
                    report.cuts,
                    cuts.len(),
                    report.broken.len()
                );
            }
        }
    };
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            scope.spawn(move || work(worker));
        }
    });
    report.into_inner().unwrap()
}

/// Leaves the disks of a broken promise for a person.
fn keep(disks: &[Disk; 2], seed: u64, index: usize) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("power-{seed}-{index}"));
    fs::create_dir_all(&folder).unwrap();
    for (disk, name) in disks.iter().zip(["root.img", "boot.img"]) {
        disk.save(&folder.join(name)).unwrap();
    }
}
