//! Running careen-deploy in a transient unit of its own, or attaching to the one that a former agent began.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt;
use systemd::Bus;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::info;
use upgrade::deploy::{Done, Line};
use upgrade::policy::Limits;
use upgrade::{Doing, Reason, UpgradeId, names};

use super::lines::Lines;
use super::run::Run;
use super::unit;
use crate::own;

/// The program's name, and where the image has it.
const NAME: &str = "careen-deploy";
const OF_THE_IMAGE: &str = "/usr/libexec/careen/careen-deploy";

/// How often progress is read while it works. Each look that finds something new has systemd tell the bus of our status.
const LOOK: Duration = Duration::from_secs(2);

/// How often systemd is asked for the unit's state while no verdict stands in the file; its signal usually comes first.
const CHECK: u32 = 2;

/// How long another run is waited for: longer than one that swaps boot entries takes, if it does not hang. The step fails then, and is tried again.
const LONGEST: Duration = Duration::from_secs(31 * 60);

/// How a run ended.
#[expect(clippy::large_enum_variant, reason = "only one runs at a time")]
#[derive(Debug)]
pub enum Ended {
    /// With this verdict.
    Verdict(Result<Done, Reason>),
    /// Because it was told to.
    Cancelled,
}

/// One run and what it needs.
pub struct Deploy<'a> {
    /// The bus.
    pub bus: &'a Bus,
    /// The run.
    pub run: &'a Run,
    /// For which upgrade.
    pub id: &'a UpgradeId,
    /// Limits of its unit.
    pub limits: &'a Limits,
    /// Where progress goes.
    pub doing: &'a watch::Sender<Option<Doing>>,
}

/// Ends the look for a plan, if there is one, and waits until it has ended: what it fetched it takes off the repository again,
/// which must not be while somebody else fetches. An agent that ran here before may have begun it.
///
/// # Errors
/// When systemd does not answer.
pub async fn end_plan(bus: &Bus) -> systemd::Result<()> {
    while bus.is_alive(names::PLAN_UNIT).await? {
        // One that has just ended by itself is what was wanted.
        let _ = bus.stop(names::PLAN_UNIT).await;
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Ends the other runs of careen-deploy, and waits until they have ended: what is to be taken back must not be brought at the same
/// time, nor after it. One that this agent stopped following (it was restarted, or lost the bus) is among them.
///
/// # Errors
/// When systemd does not answer, or one does not end.
pub async fn end_others(bus: &Bus, own: &str) -> systemd::Result<()> {
    let begun = Instant::now();
    loop {
        let mut others = bus.alive(unit::ALL).await?;
        others.retain(|name| name != own);
        let Some(first) = others.first() else {
            return Ok(());
        };
        if begun.elapsed() > LONGEST {
            return Err(systemd::Error::Failure(format!("{first} does not end")));
        }
        for name in others.iter().filter(|name| unit::may_be_ended(name)) {
            // One that has just ended by itself is what was wanted.
            let _ = bus.stop(name).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl Deploy<'_> {
    /// Runs it to its end. `cancel` stops what can be stopped; inside libostree's swap careen-deploy itself pays no heed.
    ///
    /// # Errors
    /// [`Reason::DeployDied`] when it ended without a verdict or systemd would not run it.
    pub async fn perform(&self, cancel: watch::Receiver<bool>) -> Result<Ended, Reason> {
        let name = unit::name(self.id, self.run.verb);
        let output = Path::new(names::RUN_DIR).join(name.replace(".service", ".jsonl"));
        let died = |detail: String| Reason::DeployDied {
            verb: self.run.verb.to_owned(),
            detail,
        };
        let followed = self.follow(&name, Lines::new(output), cancel).await;
        let (verdict, stopped) = followed.map_err(|error| died(error.to_string()))?;
        match verdict {
            Some(Line::Done(done)) => Ok(Ended::Verdict(Ok(done))),
            _ if stopped => Ok(Ended::Cancelled),
            Some(Line::Failed(reason)) => Ok(Ended::Verdict(Err(self.run.with_its_time(reason)))),
            Some(Line::Progress(_)) | None => {
                let died = died(format!("see journalctl -u {name}"));
                Err(self.run.with_its_time(died))
            }
        }
    }

    /// Starts the unit or finds it running, and stays until it is gone: its last line, and whether it was told to stop.
    async fn follow(
        &self,
        name: &str,
        mut lines: Lines,
        mut cancel: watch::Receiver<bool>,
    ) -> systemd::Result<(Option<Line>, bool)> {
        // If no signal comes, the regular look below finds the end.
        let mut jobs = self.bus.ended_jobs().await?;
        self.start(name, &lines.path).await?;
        let mut stopped = false;
        for turn in 1_u32.. {
            tokio::select! {
                Some(_) = jobs.next() => {}
                () = tokio::time::sleep(LOOK) => {}
                Ok(()) = cancel.changed(), if !stopped => {
                    stopped = true;
                    info!("stopping {name}");
                    let _ = self.bus.stop(name).await;
                }
            }
            self.take(&mut lines);
            let look = lines.verdict.is_some() || stopped || turn % CHECK == 0;
            // A bus that is gone does not come back on this connection: the next try of the step attaches on a new one.
            if look && !self.bus.is_alive(name).await? {
                break;
            }
        }
        self.take(&mut lines);
        Ok((lines.verdict, stopped))
    }

    async fn start(&self, name: &str, output: &Path) -> systemd::Result<()> {
        if self.bus.is_alive(name).await? {
            info!("{name} runs already; following it");
            return Ok(());
        }
        // What a former run left is no verdict on this one.
        let _ = std::fs::remove_file(output);
        let program = program();
        let properties = unit::properties(&program, self.run, output, self.limits);
        self.bus.start_transient(name, &properties).await
    }

    fn take(&self, lines: &mut Lines) {
        if let Some(Line::Progress(progress)) = lines.read() {
            let doing = Doing {
                percent: progress.percent,
                text: progress.doing,
            };
            self.doing.send_replace(Some(doing));
        }
    }
}

/// The one that came with this agent: the two are of one build, and a pod may have installed a newer pair than the image's.
fn program() -> PathBuf {
    let beside = own::program().map(|agent| agent.with_file_name(NAME));
    let there = beside.filter(|program| program.is_file());
    there.unwrap_or_else(|| OF_THE_IMAGE.into())
}
