//! Runs careen-deploy in its own transient unit, or attaches to the unit that an earlier agent
//! started.

use std::path::Path;
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
use crate::executables;

/// How often the agent reads the progress of a run. After each read with news, systemd sends the
/// agent's status on the bus.
const LOOK: Duration = Duration::from_secs(2);

/// How often the agent asks systemd for the unit's state while the file has no verdict. The signal
/// usually comes first.
const CHECK: u32 = 2;

/// How long to wait for another run: longer than a run that swaps boot entries takes, unless it
/// hangs. After that the step fails and is retried.
const LONGEST: Duration = Duration::from_secs(31 * 60);

/// How a run ended.
#[expect(clippy::large_enum_variant, reason = "only one runs at a time")]
#[derive(Debug)]
pub enum RunEnd {
    /// The run ended with this verdict.
    Verdict(Result<Done, Reason>),
    /// The run was cancelled.
    Cancelled,
}

/// One run and its inputs.
pub struct Deploy<'a> {
    /// The bus.
    pub bus: &'a Bus,
    /// The run.
    pub run: &'a Run,
    /// The upgrade that the run is for.
    pub id: &'a UpgradeId,
    /// Limits of its unit.
    pub limits: &'a Limits,
    /// Where progress goes.
    pub doing: &'a watch::Sender<Option<Doing>>,
}

/// Ends the look for a plan, if there is one, and waits until it has ended. The look removes what
/// it fetched from the repository again, which must not happen during another fetch. An earlier
/// agent may have started it.
///
/// # Errors
/// systemd does not answer.
pub async fn end_plan(bus: &Bus) -> systemd::Result<()> {
    while bus.is_alive(names::PLAN_UNIT).await? {
        // A unit that has just ended on its own also satisfies the caller.
        let _ = bus.stop(names::PLAN_UNIT).await;
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Ends the other runs of careen-deploy, and waits until they have ended. Otherwise they could
/// fetch again what an undo removes. This includes a run that the agent stopped following (because
/// it restarted, or lost the bus).
///
/// # Errors
/// systemd does not answer, or a run does not end.
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
            // A unit that has just ended on its own also satisfies the caller.
            let _ = bus.stop(name).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl Deploy<'_> {
    /// Runs careen-deploy to its end. `cancel` stops what can be stopped; careen-deploy ignores it
    /// inside libostree's swap.
    ///
    /// # Errors
    /// [`Reason::DeployDied`] if it ended without a verdict, or systemd failed to run it.
    pub async fn perform(&self, cancel: watch::Receiver<bool>) -> Result<RunEnd, Reason> {
        let name = unit::name(self.id, self.run.verb);
        let output = Path::new(names::RUN_DIR).join(name.replace(".service", ".jsonl"));
        let died = |detail: String| Reason::DeployDied {
            verb: self.run.verb.to_owned(),
            detail,
        };
        let followed = self.follow(&name, Lines::new(output), cancel).await;
        let (verdict, stopped) = followed.map_err(|error| died(error.to_string()))?;
        match verdict {
            Some(Line::Done(done)) => Ok(RunEnd::Verdict(Ok(done))),
            _ if stopped => Ok(RunEnd::Cancelled),
            Some(Line::Failed(reason)) => Ok(RunEnd::Verdict(Err(self.run.with_its_time(reason)))),
            Some(Line::Progress(_)) | None => {
                let died = died(format!("see journalctl -u {name}"));
                Err(self.run.with_its_time(died))
            }
        }
    }

    /// Starts the unit or attaches to it, and follows it until it is gone. Returns its last line,
    /// and whether it was cancelled.
    async fn follow(
        &self,
        name: &str,
        mut lines: Lines,
        mut cancel: watch::Receiver<bool>,
    ) -> systemd::Result<(Option<Line>, bool)> {
        // If no signal comes, the regular check below finds the end.
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
            // A lost bus does not return on this connection. The next attempt of the step attaches
            // on a new one.
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
        // The output of an earlier run is no verdict on this one.
        let _ = std::fs::remove_file(output);
        let program = executables::deploy();
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
