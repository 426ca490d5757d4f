//! The step that is being performed: one at a time, beside the loop, so that the loop keeps watching.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::step::Effect;
use upgrade::{Doing, Finished, Outcome, Policy, Reason, Step, Target, Upgrade, UpgradeId, Wanted};

use crate::cluster::{ApiError, Cluster};
use crate::drain::{self, Drain};
use crate::hands::{Ended, Errand, Hands};
use crate::log::StepStory;

/// What every step may use.
pub struct Tools<H> {
    /// The node's hands.
    pub hands: Arc<H>,
    /// The API server.
    pub cluster: Arc<Cluster>,
    /// Becomes true when there is nothing left to tell the Node.
    pub told: watch::Receiver<bool>,
}

impl<H> Clone for Tools<H> {
    fn clone(&self) -> Self {
        let (hands, cluster) = (Arc::clone(&self.hands), Arc::clone(&self.cluster));
        Self {
            hands,
            cluster,
            told: self.told.clone(),
        }
    }
}

/// A step under way.
pub struct Work {
    /// The step.
    pub step: Step,
    /// The upgrade that it is for.
    pub id: Option<UpgradeId>,
    /// How far it is.
    pub doing: watch::Receiver<Option<Doing>>,
    cancel: watch::Sender<bool>,
    task: JoinHandle<Outcome>,
}

impl Work {
    /// Begins a step of this upgrade, if it is of one. `node` is our Node's name, as far as it is
    /// known.
    pub fn begin<H: Hands>(
        tools: Tools<H>,
        step: Step,
        upgrade: Option<&Upgrade>,
        node: Option<String>,
        policy: Arc<Policy>,
    ) -> Self {
        let (cancel, cancelled) = watch::channel(false);
        let (doing, progress) = watch::channel(None);
        let errand = Errand {
            step: step.clone(),
            id: upgrade.map(|up| up.id.clone()),
            image: upgrade.and_then(image),
            policy,
            cancel: cancelled,
            doing,
        };
        let whose = errand.id.clone();
        let story = StepStory {
            node: node.clone(),
            id: errand.id.clone(),
            step: step.name(),
        };
        story.begins();
        let task = tokio::spawn(async move {
            let outcome = match perform(&tools, errand, node).await {
                Ok(Ended::Done(effect)) => Outcome::Done(effect),
                Ok(Ended::Cancelled) => Outcome::Cancelled,
                Err(reason) => Outcome::Failed(reason),
            };
            story.ends(&outcome);
            outcome
        });
        Self {
            step,
            id: whose,
            doing: progress,
            cancel,
            task,
        }
    }

    /// Asks it to stop.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// Leaves it where it is, as the end of the agent does.
    pub fn abandon(&self) {
        self.task.abort();
    }

    /// Waits for progress or the end, whichever comes first; only the end is returned.
    pub async fn news(&mut self) -> Option<Finished> {
        tokio::select! {
            ended = &mut self.task => {
                // A task that vanished (it panicked) has left the step's effect unknown: it is begun anew.
                let died = |error: tokio::task::JoinError| Outcome::Failed(Reason::DeployDied {
                    verb: self.step.name().to_owned(),
                    detail: error.to_string(),
                });
                let outcome = ended.unwrap_or_else(died);
                Some(Finished { step: self.step.clone(), outcome })
            }
            Ok(()) = self.doing.changed() => None,
        }
    }
}

/// The image that it was asked for.
fn image(up: &Upgrade) -> Option<Target> {
    match up.wanted() {
        Wanted::Image(target) => Some(target),
        Wanted::Kept => None,
    }
}

async fn perform<H: Hands>(
    tools: &Tools<H>,
    errand: Errand,
    node: Option<String>,
) -> Result<Ended, Reason> {
    let plain = |()| Ended::Done(Effect::Plain);
    let unknown = || Reason::ApiAway {
        detail: "our Node has not been seen yet".to_owned(),
    };
    match &errand.step {
        Step::Rehearse => {
            let node = node.ok_or_else(unknown)?;
            let blocked = drain::rehearse(&tools.cluster, &node)
                .await
                .map_err(ApiError::into_reason)?;
            Ok(Ended::Done(Effect::Rehearsed { blocked }))
        }
        Step::Exclude => {
            let (node, id) = (node.ok_or_else(unknown)?, drained_for(errand.id.as_ref())?);
            drain::exclude(&tools.cluster, &node, id)
                .await
                .map(plain)
                .map_err(ApiError::into_reason)
        }
        Step::Release => {
            let (node, id) = (node.ok_or_else(unknown)?, drained_for(errand.id.as_ref())?);
            drain::release(&tools.cluster, &node, id)
                .await
                .map(plain)
                .map_err(ApiError::into_reason)
        }
        Step::Unmark => drain::unmark(&tools.cluster, &node.ok_or_else(unknown)?)
            .await
            .map(plain)
            .map_err(ApiError::into_reason),
        Step::Drain { spent_seconds } => {
            let spent = Duration::from_secs(*spent_seconds);
            drain(tools, errand, &node.ok_or_else(unknown)?, spent).await
        }
        Step::Reboot { force: false } => {
            // The last word before the silence, if it can be had within a moment.
            let mut told = tools.told.clone();
            let _ = tokio::time::timeout(LAST_WORD, told.wait_for(|told| *told)).await;
            tools.hands.perform(errand).await
        }
        _ => tools.hands.perform(errand).await,
    }
}

/// Whose cordon it is.
fn drained_for(id: Option<&UpgradeId>) -> Result<&UpgradeId, Reason> {
    id.ok_or_else(|| Reason::DrainRefused {
        detail: "there is no upgrade to drain for".to_owned(),
    })
}

/// How long a reboot waits for the Node to be told.
const LAST_WORD: Duration = Duration::from_secs(3);

async fn drain<H: Hands>(
    tools: &Tools<H>,
    mut errand: Errand,
    node: &str,
    spent: Duration,
) -> Result<Ended, Reason> {
    let id = drained_for(errand.id.as_ref())?;
    let progress = |percent, text| {
        errand.doing.send_replace(Some(Doing { percent, text }));
    };
    let drain = Drain {
        cluster: &tools.cluster,
        node,
        id,
        policy: &errand.policy.drain,
        spent,
        progress: &progress,
    };
    tokio::select! {
        result = drain.run() => result.map(|()| Ended::Done(Effect::Plain)),
        Ok(_) = errand.cancel.wait_for(|cancel| *cancel) => Ok(Ended::Cancelled),
    }
}
