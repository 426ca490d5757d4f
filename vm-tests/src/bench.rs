//! What an upgrade costs beside the same done by hand, on the same frozen node (P1, P3, P4). Ratios of one run each, median and spread.
//!
//! By hand means: what an administrator types who knows everything beforehand and checks nothing. That is the floor.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::images::{self, Commit, DiskKind, ensure_commit};
use crate::node::Seen;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::out;
use crate::{changed, workload};

/// One run of both, in seconds and bytes.
#[derive(Debug, Clone, Serialize)]
struct Run {
    down: f64,
    down_by_hand: f64,
    staging: f64,
    staging_by_hand: f64,
    fetched: u64,
    changed: u64,
}

/// Seconds of one way: until the new system lies beside the old one, and without a place for pods.
struct Times {
    staging: f64,
    down: f64,
}

/// Measures `runs` times and prints the table; the numbers of every run go to `out/bench.json`.
///
/// # Errors
/// When a part does not start or an upgrade fails.
pub async fn run(runs: usize) -> Result<()> {
    let image = ensure_commit("v2")?;
    let changed = changed::bytes(&images::repository()?, "v1", &image.digest)?;
    let mut all = Vec::new();
    for number in 1..=runs {
        let progress = Progress::new(&format!("bench {number} of {runs}"));
        let (careen, fetched) = by_careen(&image, progress.clone()).await?;
        let hand = by_hand(&image, progress).await?;
        all.push(Run {
            down: careen.down,
            down_by_hand: hand.down,
            staging: careen.staging,
            staging_by_hand: hand.staging,
            fetched,
            changed,
        });
        fs::write(
            out().join("bench.json"),
            serde_json::to_string_pretty(&all)?,
        )?;
    }
    print(&all);
    Ok(())
}

async fn empty_node(progress: Progress) -> Result<Rig> {
    let mut rig = Rig::start(DiskKind::Bios, &out().join("bench"), progress).await?;
    rig.before().await?;
    workload::remove(&rig.plane.client().await?).await?;
    Ok(rig)
}

async fn by_careen(image: &Commit, progress: Progress) -> Result<(Times, u64)> {
    let mut rig = empty_node(progress).await?;
    let before = rig.before().await?;
    let begun = Instant::now();
    rig.ask(image).await?;
    rig.wait_phase("Deployed", crate::rig::UPGRADE).await?;
    let staging = begun.elapsed().as_secs_f64();
    let fetched = rig.repo.served();
    rig.expect_upgraded(&before, image).await?;
    let down = cordoned(&rig.node.history()).context("the node was never cordoned")?;
    Ok((
        Times {
            staging,
            down: down.as_secs_f64(),
        },
        fetched,
    ))
}

/// From the cordon to its end.
fn cordoned(history: &[Seen]) -> Option<Duration> {
    let begin = history.iter().position(|seen| !seen.view.schedulable)?;
    let end = history[begin..].iter().find(|seen| seen.view.schedulable)?;
    Some(end.at - history[begin].at)
}

async fn by_hand(image: &Commit, progress: Progress) -> Result<Times> {
    let mut rig = empty_node(progress.clone()).await?;
    rig.guest.run("systemctl stop careen-agent").await?;
    let digest = &image.digest;
    let (begun, boot) = (Instant::now(), rig.boot_id().await?);
    let stage = format!(
        "mount -o remount,rw /sysroot && ostree pull careen {digest} && ostree fsck && \
         ostree admin deploy --not-as-default --origin-file=$(ls /ostree/deploy/debian/deploy/*.origin | head -n 1) {digest}"
    );
    rig.wait_guest(&stage).await?;
    let staging = begun.elapsed().as_secs_f64();
    progress.step("staged by hand");
    let begun = Instant::now();
    rig.wait_guest("ostree admin set-default 1").await?;
    rig.guest.run("systemctl --no-block reboot").await?;
    let boot = rig.wait_boot(Some(&boot)).await?;
    let there = |view: &crate::node::View| view.ready && view.boot == boot;
    rig.node
        .wait("the node is Ready", crate::rig::UPGRADE, there)
        .await?;
    rig.wait_guest("kubeadm upgrade node").await?;
    Ok(Times {
        staging,
        down: begun.elapsed().as_secs_f64(),
    })
}

fn print(runs: &[Run]) {
    println!("{:<44}{:>8}{:>8}{:>8}", "", "median", "least", "most");
    row("P1 cordon to schedulable, over by hand", runs, |run| {
        run.down / run.down_by_hand
    });
    row("P3 staging, over by hand", runs, |run| {
        run.staging / run.staging_by_hand
    });
    row("P4 bytes fetched, over bytes changed", runs, |run| {
        run.fetched as f64 / run.changed as f64
    });
    row("   cordon to schedulable, s", runs, |run| run.down);
    row("   by hand (the floor), s", runs, |run| run.down_by_hand);
    row("   staging, s", runs, |run| run.staging);
    row("   by hand (the floor), s", runs, |run| run.staging_by_hand);
}

fn row(name: &str, runs: &[Run], value: impl Fn(&Run) -> f64) {
    let mut values: Vec<f64> = runs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (values.first(), values.last()) {
        println!(
            "{name:<44}{:>8.2}{least:>8.2}{most:>8.2}",
            values[values.len() / 2]
        );
    }
}
