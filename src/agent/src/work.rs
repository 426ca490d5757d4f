//! The current step. Steps run one at a time, concurrently with the loop, so that the loop keeps
//! watching.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::{Doing, Finished, Outcome, Policy, Reason, Step, Target, Upgrade, UpgradeId, Wanted};

use crate::hands::{Ended, Errand, Hands};
use crate::log::StepStory;
use crate::step::{self, Order, Tools};

/// A step under way.
pub struct Work {
    /// The step.
    pub step: Step,
    /// The upgrade that it is for.
    pub id: Option<UpgradeId>,
    /// How far the step is.
    pub doing: watch::Receiver<Option<Doing>>,
    cancel: watch::Sender<bool>,
    task: JoinHandle<Outcome>,
}

impl Work {
    /// Begins a step, for this upgrade if the step belongs to one. `node` is the Node's name, as
    /// far as it is known.
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
            step: step.kind(),
            id: upgrade.map(|up| up.id.clone()),
            policy,
            cancel: cancelled,
            doing,
        };
        let whose = errand.id.clone();
        let order = Order {
            step: step.clone(),
            image: upgrade.and_then(image),
            node: node.clone(),
        };
        let story = StepStory {
            node,
            id: errand.id.clone(),
            step: step.name(),
        };
        story.begins();
        let task = tokio::spawn(async move {
            let outcome = match step::perform(&tools, order, errand).await {
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

    /// Asks the step to stop.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// Leaves the step where it is, as the end of the agent does.
    pub fn abandon(&self) {
        self.task.abort();
    }

    /// Waits for progress or the end. Returns only the end.
    pub async fn news(&mut self) -> Option<Finished> {
        tokio::select! {
            ended = &mut self.task => {
                // A task that vanished (it panicked) leaves the step's effect unknown, so the agent
                // begins the step again.
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

/// The image that the upgrade requested.
fn image(up: &Upgrade) -> Option<Target> {
    match up.wanted() {
        Wanted::Image(target) => Some(target),
        Wanted::Kept => None,
    }
}
