//! The program of the stand-in kubelet, and a running one.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use testkit::process::Process;

use crate::built::built;
use crate::namespaces::{Namespaces, child_of};

const NAME: &str = "stand-in-kubelet";

/// How long it may take to end: its pods go on, so there is nothing to wait for.
const PATIENCE: Duration = Duration::from_secs(60);

const LOOK: Duration = Duration::from_millis(5);

/// A running stand-in kubelet.
#[derive(Debug)]
pub struct StandIn {
    entrance: Process,
}

impl StandIn {
    /// Starts it in a member.
    ///
    /// # Errors
    ///
    /// Fails when its program cannot be built.
    pub fn start(member: &Namespaces, images: &Path, version: &str, log: &Path) -> Result<Self> {
        let mut arguments = member.entrance();
        for word in [&built("native", NAME)?, images, Path::new(version)] {
            arguments.push(word.display().to_string());
        }
        let entrance = Process::start(Path::new("nsenter"), &arguments, log)?;
        Ok(Self { entrance })
    }

    /// Ends it as systemd does. Its static pods go on.
    ///
    /// # Errors
    ///
    /// Fails when it does not run, or does not end.
    pub fn stop(mut self) -> Result<()> {
        self.entrance.check()?;
        let inside = child_of(self.entrance.pid()).context("the stand-in does not run")?;
        kill(inside, Signal::SIGTERM)?;
        let begun = Instant::now();
        while self.entrance.ended()?.is_none() {
            ensure!(begun.elapsed() < PATIENCE, "the stand-in does not end");
            thread::sleep(LOOK);
        }
        Ok(())
    }
}
