//! The cost of the infrastructure provider with thousands of prepared hosts: memory and processor
//! for each host, and how soon 300 machines get a host at once and give it back.
//!
//! The hosts are played. Each has its own objects, and renews its Lease as a host does that has
//! joined. They share one connection, because 10,000 connections would cost the API server most.

pub mod bare;
mod beats;
mod claims;
mod floor;
mod objects;
mod rack;
mod scene;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::process::{CORE_WAITS, Provider};
use crate::row::Measure;
use bare::Bare;
use beats::Beats;
use scene::Scene;

/// The number of machines that ask for a host at once.
const MACHINES: usize = 300;

/// The time until a process without any work is idle.
const SETTLE: Duration = Duration::from_secs(10);

/// The observation time of heartbeats alone: two lifetimes of a watch.
const WINDOW: Duration = Duration::from_secs(120);

/// A process that takes less processor than this share of a core has ended its work at a start.
const IDLE: f64 = 0.15;

/// How often that is looked at, and how often at most.
const LOOK: Duration = Duration::from_secs(5);
const LOOKS: u32 = 120;

/// The infrastructure provider is off without this flag.
const FLAG: &str = "--infrastructure";

/// All measurements with this many hosts.
pub async fn measure(count: usize, program: &Path) -> Result<Vec<Measure>> {
    ensure!(count > MACHINES, "more than {MACHINES} hosts are necessary");
    eprintln!("{count} hosts: a new cluster");
    let scene = Scene::start().await?;
    let before = Before::with(&scene, program, count).await?;
    let beats = Beats::start(&scene.admin, count);
    let floor = floor::measure(&scene).await?;
    let started = Started::among(&scene, program, count).await?;
    let idle = idle(&started, &beats).await?;
    let machines = claims::measure(&scene, &started.provider).await?;
    Ok([before.with_all(&started, count)?, idle, floor, machines].concat())
}

/// What was seen of the first process, which came before the hosts.
struct Before {
    idle: f64,
    bare: f64,
    grown: f64,
    peak: f64,
    processor: f64,
}

impl Before {
    async fn with(scene: &Scene, program: &Path, count: usize) -> Result<Self> {
        let provider = scene.provider(program, &[FLAG]).await?;
        let watch = Bare::start(scene)?;
        tokio::time::sleep(SETTLE).await;
        let (idle, bare) = (provider.memory()?, watch.memory()?);
        drop(watch);
        let so_far = provider.processor()?;
        objects::hosts(&scene.admin, count).await?;
        until_idle(&provider).await?;
        let processor = (provider.processor()? - so_far) / count as f64;
        objects::machines(scene, MACHINES).await?;
        let (grown, peak) = (provider.memory()?, provider.peak_memory()?);
        Ok(Self {
            idle,
            bare,
            grown,
            peak,
            processor,
        })
    }

    fn with_all(&self, started: &Started, count: usize) -> Result<Vec<Measure>> {
        let hosts = count as f64;
        let ready = started.provider.to_begin.as_secs_f64();
        Ok(vec![
            Measure::at_most(
                "memory a host, after a start among them all, KiB",
                (started.memory - self.idle) / hosts,
                10.0,
            ),
            Measure::floor(
                "   floor: a bare watch that keeps the same objects, KiB",
                (started.bare_memory - self.bare) / hosts,
            ),
            Measure::at_most(
                "memory a host, of the process that saw them come, KiB",
                (self.grown - self.idle) / hosts,
                10.0,
            ),
            Measure::shown("   idle, without any host, KiB", self.idle),
            Measure::shown("   the most it ever had, KiB", self.peak),
            Measure::shown("   the most after a start among them, KiB", started.peak),
            Measure::shown("processor until a host has its account, ms", self.processor),
            Measure::at_most(
                "start among them until ready, s",
                ready,
                CORE_WAITS.as_secs_f64(),
            ),
        ])
    }
}

/// A process that was started among all the hosts, and a bare watch of them.
struct Started {
    provider: Provider,
    bare: Bare,
    memory: f64,
    bare_memory: f64,
    peak: f64,
}

impl Started {
    async fn among(scene: &Scene, program: &Path, count: usize) -> Result<Self> {
        eprintln!("{count} hosts: a start among them all");
        let provider = scene.provider(program, &[FLAG]).await?;
        let bare = Bare::start(scene)?;
        // A leader that was killed is waited for.
        tokio::time::sleep(SETTLE * 3).await;
        until_idle(&provider).await?;
        Ok(Self {
            memory: provider.memory()?,
            peak: provider.peak_memory()?,
            bare_memory: bare.memory()?,
            provider,
            bare,
        })
    }
}

async fn until_idle(provider: &Provider) -> Result<()> {
    for _ in 0..LOOKS {
        let before = provider.processor()?;
        tokio::time::sleep(LOOK).await;
        let share = (provider.processor()? - before) / LOOK.as_secs_f64() / 1000.0;
        if share < IDLE {
            return Ok(());
        }
    }
    anyhow::bail!("careen-provider still works after {:?}", LOOK * LOOKS)
}

/// The hosts beat, and nothing else changes.
async fn idle(started: &Started, beats: &Beats) -> Result<Vec<Measure>> {
    eprintln!("only heartbeats for {} s", WINDOW.as_secs());
    let seconds = WINDOW.as_secs_f64();
    let (provider, bare) = (&started.provider, &started.bare);
    let before = (provider.processor()?, bare.processor()?, beats.so_far()?);
    tokio::time::sleep(WINDOW).await;
    let beaten = (beats.so_far()? - before.2) as f64 / seconds;
    Ok(vec![
        Measure::at_most(
            "processor while they only beat, thousandths",
            (provider.processor()? - before.0) / seconds,
            50.0,
        ),
        Measure::floor(
            "   floor: the bare watch meanwhile, thousandths",
            (bare.processor()? - before.1) / seconds,
        ),
        Measure::shown("   heartbeats a second", beaten),
    ])
}
