//! Measures how long our stage worked in the running boot, from systemd's journal entries about its
//! units.

use anyhow::{Context, Result};
use rig::guest::Guest;
use serde::{Deserialize, Serialize};

/// MESSAGE_ID of "Starting ..." and "Started/Finished ..." (sd-messages(3)).
const STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
const STARTED: &str = "39f53479d3a045ac8e11786248231fbf";

/// Seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Times {
    /// Before the pivot: guard and verify. Nothing else runs at the same time.
    pub initramfs: f64,
    /// Before the kubelet starts: the rest of the files. Much of the boot runs in parallel.
    pub system: f64,
    /// The whole boot, from the kernel's start until systemd has started everything.
    pub boot: f64,
}

/// Asks the guest about its running boot.
///
/// # Errors
///
/// Fails when its journal or systemd does not say.
pub async fn measure(guest: &mut Guest) -> Result<Times> {
    let boot = guest
        .run("systemctl show --value -p FinishTimestampMonotonic")
        .await?;
    let boot: f64 = boot.trim().parse().context("systemd's finish time")?;
    Ok(Times {
        initramfs: unit(guest, "careen-guard.service").await?
            + unit(guest, "careen-verify.service").await?,
        system: unit(guest, "careen-check.service").await?,
        boot: boot / 1e6,
    })
}

/// A line of `journalctl -o json`.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "__MONOTONIC_TIMESTAMP")]
    at: String,
    #[serde(rename = "MESSAGE_ID", default)]
    id: String,
}

async fn unit(guest: &mut Guest, name: &str) -> Result<f64> {
    let lines = guest
        .run(&format!("journalctl -b -o json _PID=1 UNIT={name}"))
        .await?;
    let lines: Vec<Line> = lines
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .with_context(|| format!("the journal of {name}"))?;
    let at = |id: &str| {
        let line = lines.iter().find(|line| line.id == id);
        let line = line.with_context(|| format!("the journal lacks the start or end of {name}"))?;
        line.at.parse::<f64>().context("a journal time")
    };
    Ok((at(STARTED)? - at(STARTING)?) / 1e6)
}
