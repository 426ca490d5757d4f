//! Has the story recorded once, then cuts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crate::cut::Cut;
use crate::disk::Disk;
use crate::eyes;
use crate::judge::Bench;
use crate::node::keep_mounts_private;
use crate::plan;
use crate::recording::{Recording, record};
use crate::report::Report;
use crate::shelf::Shelf;
use crate::story;
use crate::world::World;

/// A sample for every test run, and how long it may take.
const SAMPLE: usize = 60;
const SAMPLE_TIME: Duration = Duration::from_secs(25);
/// GRUB's looks are quick, and come however long the cuts have taken.
const LOOKS_TIME: Duration = Duration::from_secs(20);
const WORKERS: usize = 2;

/// What a run is asked for.
struct Wanted {
    seed: u64,
    cuts: usize,
    /// One cut alone.
    only: Option<usize>,
    until: Option<Instant>,
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

impl Wanted {
    fn now() -> Self {
        let (cuts, only) = (number("CAREEN_POWER_CUTS"), number("CAREEN_POWER_ONLY"));
        let sample = (cuts.is_none() && only.is_none()).then_some(SAMPLE_TIME);
        let limit = number("CAREEN_POWER_SECONDS").map(Duration::from_secs);
        Self {
            seed: number("CAREEN_POWER_SEED").unwrap_or(1),
            cuts: cuts.unwrap_or(SAMPLE),
            only,
            until: limit.or(sample).map(|limit| Instant::now() + limit),
        }
    }

    fn in_time(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

#[test]
fn no_power_cut_loses_a_node_or_what_it_knows() {
    keep_mounts_private();
    let shelves = tempfile::tempdir().unwrap();
    let shelf = Shelf::at(&shelves.path().join("story"));
    let (world, recording) = record(&shelf, story::acts);
    let wanted = Wanted::now();
    let mut cuts = plan::cuts(&recording, wanted.cuts, wanted.seed);
    cuts.retain(|cut| wanted.only.is_none_or(|only| only == cut.index));
    let mut report = make(&world, &recording, shelves.path(), &cuts, &wanted);
    let scratch = shelves.path().join("eyes");
    let looked = Instant::now();
    let in_time = || wanted.in_time() || looked.elapsed() < LOOKS_TIME;
    let (looks, unbootable) = eyes::look(&shelf, &recording, &scratch, &in_time);
    report.broken.extend(unbootable);
    let json = report.json(wanted.seed, &recording.log, looks);
    println!("{json:#}");
    if let Ok(path) = env::var("CAREEN_POWER_JSON") {
        fs::write(path, format!("{json:#}\n")).unwrap();
    }
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
}

/// Makes the cuts, by as many workers as the machine has to spare.
fn make(
    world: &World,
    recording: &Recording,
    shelves: &Path,
    cuts: &[Cut],
    wanted: &Wanted,
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
            .filter(|cut| cut.index == 0 || wanted.in_time())
        {
            let disks = cut.disks(recording);
            let judged = catch_unwind(AssertUnwindSafe(|| bench.judge(cut, disks.clone())));
            let judged = judged.unwrap_or_else(|_| Err("the test itself fell over".to_owned()));
            if let Err(why) = &judged {
                keep(&disks, wanted.seed, cut.index);
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
