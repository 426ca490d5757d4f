//! One power cut: after how many requests, and what happened to the unflushed writes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rig::fate::{self, Fate};
use rig::writes::Log;
use serde::{Deserialize, Serialize};

use crate::way::Way;

/// A power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The seed of its plan.
    pub plan: u64,
    /// Its place in the plan.
    pub index: usize,
    /// The upgrade that is cut.
    pub way: Way,
    /// The number of requests before the cut.
    pub after: usize,
    /// What happened to the unflushed writes.
    pub fate: Fate,
    /// Selects what is torn.
    pub seed: u64,
    /// The upgrade continues afterwards. Otherwise the request is withdrawn as soon as the node is
    /// up, if that is still possible.
    pub goes_on: bool,
}

impl Cut {
    /// Builds the disk as it is when the power returns: a raw file at `to`.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be written.
    pub fn make_disk(&self, base: &Path, log: &Log, to: &Path) -> Result<()> {
        copy(base, to)?;
        fate::write(log, self.after, self.fate, self.seed, to)
    }

    /// The number of the log's requests that are on the disk for certain.
    #[must_use]
    pub fn safe(&self, log: &Log) -> usize {
        self.fate.safe(log, self.after)
    }
}

fn copy(base: &Path, to: &Path) -> Result<()> {
    let mut copy = Command::new("cp");
    copy.arg("--sparse=always").arg(base).arg(to);
    let status = copy.status().context("cannot run cp")?;
    ensure!(status.success(), "cp {}: {status}", base.display());
    Ok(())
}
