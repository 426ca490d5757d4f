//! Runs careen-control to perform a step. It is a program of its own, because it reads credentials
//! that open the whole cluster and this daemon never does.

pub mod run;
mod unit;

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use host::Places;
use systemd::Bus;
use tracing::info;
use upgrade::control_plane::{Done, Survey};
use upgrade::step::Effect;
use upgrade::{Policy, Reason, Version, names};

use crate::access::{Errand, StepEnd};
use crate::executables;
use crate::task::ControlOrder;
use run::Run;

/// How often the agent asks systemd for the unit's state. The signal usually comes first.
const LOOK: Duration = Duration::from_secs(2);

/// The most that is read of an answer, in bytes. A survey of nine members has less than 64 KiB.
const LONGEST: usize = 1024 * 1024;

/// Performs a task of careen-control for an upgrade, to its end.
///
/// # Errors
/// What careen-control says, or why it could not run.
pub async fn perform(
    places: &Places,
    order: &ControlOrder,
    errand: &Errand,
) -> Result<StepEnd, Reason> {
    let id = errand.upgrade()?;
    let run = run::run(places, order, id, &errand.policy);
    let done = answered(places, &run).await?;
    if let Done::Raised(version) = &done {
        info!("the control plane of this node is at {version}");
    }
    Ok(StepEnd::Done(Effect::Controlled(done)))
}

/// Surveys the control plane for a plan of an image of this version.
///
/// # Errors
/// As [`perform`].
pub async fn survey(
    places: &Places,
    version: Option<&Version>,
    policy: &Policy,
) -> Result<Survey, Reason> {
    let run = run::survey_for_a_plan(places, version, policy);
    match answered(places, &run).await? {
        Done::Surveyed(survey) => Ok(*survey),
        Done::Locked
        | Done::Busy { .. }
        | Done::SavedEtcd(_)
        | Done::Raised(_)
        | Done::GivenUp
        | Done::Yielded
        | Done::Unlocked => Err(run.task.failed(&"it answered another question")),
    }
}

async fn answered(places: &Places, run: &Run) -> Result<Done, Reason> {
    let folder = places.root.join(names::RUN_DIR.trim_start_matches('/'));
    let output = folder.join(format!("{}.json", run.unit));
    let followed = follow(run, &output).await;
    followed.map_err(|error| run.task.failed(&error))?;
    let printed = read(&output);
    match printed {
        Ok(text) if !text.is_empty() => run.task.read(&text),
        Ok(_) => Err(run.task.failed(&format!(
            "it ended without an answer, see journalctl -u {}.service",
            run.unit
        ))),
        Err(error) => Err(run.task.failed(&error)),
    }
}

/// Starts the unit, or finds it running, and waits until it is gone.
async fn follow(run: &Run, output: &Path) -> systemd::Result<()> {
    let bus = Bus::system().await?;
    let mut jobs = bus.ended_jobs().await?;
    let name = format!("{}.service", run.unit);
    if bus.is_alive(&name).await? {
        info!("{name} runs already; following it");
    } else {
        // The answer of an earlier run is no answer to this one.
        let _ = std::fs::remove_file(output);
        let program = executables::control();
        let properties = unit::properties(&program, run, output);
        bus.start_transient(&name, &properties).await?;
    }
    loop {
        tokio::select! {
            Some(_) = jobs.next() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
        if !bus.is_alive(&name).await? {
            return Ok(());
        }
    }
}

fn read(output: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let file = match std::fs::File::open(output) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(LONGEST as u64).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}
