//! Runs careen-deploy to perform a step, or to look at an image for a plan.

pub mod follow;
mod lines;
mod run;
mod unit;

use host::Places;
use systemd::Bus;
use tokio::sync::watch;
use upgrade::deploy::Done;
use upgrade::plan::Found;
use upgrade::step::Effect;
use upgrade::{Reason, UpgradeId};

use crate::access::{Ahead, Errand, StepEnd};
use crate::node::saved;

use crate::task::Verb;
use follow::Deploy;
use run::Run;

/// Runs a verb of careen-deploy for an upgrade.
///
/// # Errors
/// The error of the verb, or why it could not run.
pub async fn perform(places: &Places, verb: &Verb, errand: &Errand) -> Result<StepEnd, Reason> {
    let id = errand.upgrade()?;
    if let Verb::Undo { .. } = verb {
        end_other_runs(id).await?;
    }
    let run = run::run(verb, &errand.policy);
    let bus = bus_without_a_plan(&run).await?;
    let deploy = Deploy {
        bus: &bus,
        run: &run,
        id,
        limits: &errand.policy.limits,
        doing: &errand.doing,
    };
    match deploy.perform(errand.cancel.clone()).await? {
        follow::RunEnd::Cancelled => Ok(StepEnd::Cancelled),
        follow::RunEnd::Verdict(verdict) => {
            let done = verdict?;
            saved::tidy(places, verb, id);
            Ok(StepEnd::Done(effect(done)))
        }
    }
}

/// Looks at an image for a plan.
///
/// # Errors
/// Why the image is not available.
pub async fn plan(ahead: Ahead) -> Result<Found, Reason> {
    let run = run::plan(&ahead.look, &ahead.policy);
    let bus = bus_without_a_plan(&run).await?;
    let (id, (doing, _)) = (run::PLAN_ID.parse::<UpgradeId>()?, watch::channel(None));
    let deploy = Deploy {
        bus: &bus,
        run: &run,
        id: &id,
        limits: &ahead.policy.limits,
        doing: &doing,
    };
    match deploy.perform(ahead.cancel).await? {
        follow::RunEnd::Verdict(Ok(Done::Planned(found))) => Ok(*found),
        follow::RunEnd::Verdict(Err(reason)) => Err(reason),
        follow::RunEnd::Verdict(Ok(_)) => Err(died(&run, "it answered another question")),
        follow::RunEnd::Cancelled => Err(died(&run, "it was cancelled")),
    }
}

/// Ends the runs that were started for an upgrade and may still be running, except the undo itself.
async fn end_other_runs(id: &UpgradeId) -> Result<(), Reason> {
    let own = unit::name(id, run::UNDO);
    let ended = async {
        let bus = Bus::system().await?;
        follow::end_others(&bus, &own).await
    };
    ended
        .await
        .map_err(|error: systemd::Error| Reason::DeployDied {
            verb: run::UNDO.to_owned(),
            detail: error.to_string(),
        })
}

/// Connects to the bus, and ends any look for a plan.
async fn bus_without_a_plan(run: &Run) -> Result<Bus, Reason> {
    let ready = async {
        let bus = Bus::system().await?;
        follow::end_plan(&bus).await?;
        Ok::<_, systemd::Error>(bus)
    };
    ready.await.map_err(|error| died(run, error))
}

fn died(run: &Run, detail: impl ToString) -> Reason {
    Reason::DeployDied {
        verb: run.verb.to_owned(),
        detail: detail.to_string(),
    }
}

fn effect(done: Done) -> Effect {
    match done {
        Done::Fetched { commit, .. } => Effect::Fetched { commit },
        Done::Verified(facts) => Effect::Verified(facts),
        Done::Deployed(deployment) => Effect::Deployed(deployment),
        Done::Blessed
        | Done::Reinstated
        | Done::Undone
        | Done::Cleaned
        | Done::Planned(_)
        | Done::Status { .. } => Effect::Plain,
    }
}
