//! The table that a person reads: median, least and most of all runs.

use super::pair::Run;
use super::stage;

/// Prints it; `bare` is the stage on a disk without fs-verity, once.
pub fn print(runs: &[Run], bare: Option<&stage::Times>) {
    println!(
        "{:<52}{:>8}{:>8}{:>8}{:>9}",
        "", "median", "least", "most", "target"
    );
    for (name, target, value) in ROWS {
        row(name, target, runs, value);
    }
    let Some(bare) = bare else { return };
    println!(
        "without fs-verity, one run: {:.2} s in the initramfs ({:.1} % of the boot), {:.2} s before the kubelet",
        bare.initramfs,
        100.0 * bare.initramfs / bare.boot,
        bare.system
    );
}

type Value = fn(&Run) -> f64;

/// What is measured, the most that it may be where there is such a figure (docs/performance.md),
/// and how it is had from a run.
const ROWS: &[(&str, &str, Value)] = &[
    ("P1 cordon to schedulable, over by hand", "1.10", |run| {
        run.careen.down.clock / run.hand.down.clock
    }),
    ("   the same in work of the emulator", "", |run| {
        run.careen.down.work / run.hand.down.work
    }),
    ("   over a plain reboot to Ready", "", |run| {
        run.careen.down.clock / run.hand.plain.clock
    }),
    ("   the same in work of the emulator", "", |run| {
        run.careen.down.work / run.hand.plain.work
    }),
    ("P3 staging, over by hand", "1.05", |run| {
        run.careen.staging.clock / run.hand.staging.clock
    }),
    ("   the same in work of the emulator", "", |run| {
        run.careen.staging.work / run.hand.staging.work
    }),
    ("   unavailable while staging, s", "0", |run| {
        run.careen.unavailable_while_staging
    }),
    ("P4 bytes fetched, over bytes changed", "1.10", |run| {
        run.careen.fetched as f64 / run.changed as f64
    }),
    ("   fetched, MiB", "", |run| mib(run.careen.fetched)),
    ("   changed (the floor), MiB", "", |run| mib(run.changed)),
    ("P9 stage in the initramfs, % of the boot", "2", |run| {
        100.0 * run.careen.stage.initramfs / run.careen.stage.boot
    }),
    ("   check before the kubelet, % of the boot", "", |run| {
        100.0 * run.careen.stage.system / run.careen.stage.boot
    }),
    ("   cordon to schedulable, s", "", |run| {
        run.careen.down.clock
    }),
    ("   by hand (the floor), s", "", |run| run.hand.down.clock),
    ("   plain reboot, s", "", |run| run.hand.plain.clock),
    ("   staging, s", "", |run| run.careen.staging.clock),
    ("   by hand (the floor), s", "", |run| {
        run.hand.staging.clock
    }),
    ("   fetch, s", "", |run| run.careen.steps[0]),
    ("   by hand, s", "", |run| run.hand.steps[0].clock),
    ("   verify, s", "", |run| run.careen.steps[1]),
    ("   by hand, s", "", |run| run.hand.steps[1].clock),
    ("   rehearse and deploy, s", "", |run| run.careen.steps[2]),
    ("   by hand (deploy), s", "", |run| run.hand.steps[2].clock),
    ("   stage in the initramfs, s", "", |run| {
        run.careen.stage.initramfs
    }),
    ("   check before the kubelet, s", "", |run| {
        run.careen.stage.system
    }),
    ("   the trial's boot (the floor), s", "", |run| {
        run.careen.stage.boot
    }),
];

fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}

fn row(name: &str, target: &str, runs: &[Run], value: &Value) {
    let mut values: Vec<f64> = runs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (values.first(), values.last()) {
        println!(
            "{name:<52}{:>8.2}{least:>8.2}{most:>8.2}{target:>9}",
            values[values.len() / 2]
        );
    }
}
