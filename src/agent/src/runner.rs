//! The current step. Steps run one at a time, concurrently with the loop, so that the loop keeps
//! watching.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::record::Control;
use upgrade::serving::NodePod;
use upgrade::{
    Doing, Finished, Membership, Outcome, Policy, Reason, Step, Target, Upgrade, UpgradeId,
    Version, Wanted,
};

use crate::access::{Errand, NodeAccess, StepEnd};
use crate::log::StepStory;
use crate::step::{self, Order, Tools};

/// What is known as a step begins.
pub struct Known {
    /// The Node's name.
    pub node: Option<String>,
    /// Whether this machine is a node of a cluster.
    pub membership: Membership,
    /// The API server's version, by which the step was allowed. `None` while the agent does not
    /// reach the server.
    pub server: Option<Version>,
}

/// How a step ended.
pub struct Ending {
    /// The step and its outcome.
    pub finished: Finished,
    /// The API server's version, if the server has another one than was known. The step has done
    /// nothing then.
    pub server: Option<Version>,
}

/// What the task of a step returns.
type Told = (Outcome, Option<Version>);

/// A step under way.
pub struct Work {
    /// The step.
    pub step: Step,
    /// The upgrade that it is for.
    pub id: Option<UpgradeId>,
    /// How far the step is.
    pub doing: watch::Receiver<Option<Doing>>,
    cancel: watch::Sender<bool>,
    task: JoinHandle<Told>,
}

impl Work {
    /// Begins a step, for this upgrade if the step belongs to one.
    pub fn begin<H: NodeAccess>(
        tools: Tools<H>,
        step: Step,
        upgrade: Option<&Upgrade>,
        known: Known,
        policy: Arc<Policy>,
    ) -> Self {
        let Known {
            node,
            membership,
            server,
        } = known;
        let (cancel, cancelled) = watch::channel(false);
        let (doing, progress) = watch::channel(None);
        let errand = Errand {
            step: step.kind(),
            id: upgrade.map(|up| up.id.clone()),
            policy: for_this(policy, upgrade),
            cancel: cancelled,
            doing,
        };
        let whose = errand.id.clone();
        let order = Order {
            step: step.clone(),
            image: upgrade.and_then(image),
            node: node.clone(),
            membership,
            is_taken: upgrade.is_some_and(|up| up.custody.taken().is_some()),
            kubelet: upgrade.and_then(kubelet),
            deployment: upgrade.and_then(|up| up.to.clone()),
            has_tried: upgrade.is_some_and(|up| up.attempt.tries > 0),
            noted: upgrade.and_then(noted),
        };
        let story = StepStory {
            node,
            id: errand.id.clone(),
            step: step.name(),
        };
        story.begins();
        let task = tokio::spawn(async move {
            let other = another_version(&tools, &order.step, server).await;
            let outcome = if other.is_some() {
                Outcome::Cancelled
            } else {
                outcome(step::perform(&tools, order, errand).await)
            };
            story.ends(&outcome);
            (outcome, other)
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
    pub async fn news(&mut self) -> Option<Ending> {
        tokio::select! {
            ended = &mut self.task => {
                // Only a build that unwinds can lose a task, as that of the tests does. The shipped
                // agent aborts on a panic (`[profile.image]`), and the next one finds the step in
                // the record. In both cases the step's effect is unknown, so it begins again. The
                // reason names the step and the journal of the agent, where the panic is.
                let died = |error: tokio::task::JoinError| {
                    let detail = error.to_string();
                    let verb = self.step.name().to_owned();
                    (Outcome::Failed(Reason::DeployDied { verb, detail }), None)
                };
                let (outcome, server) = ended.unwrap_or_else(died);
                let finished = Finished { step: self.step.clone(), outcome };
                Some(Ending { finished, server })
            }
            Ok(()) = self.doing.changed() => None,
        }
    }
}

/// The policy of an upgrade. An eviction helps nobody where no other Node takes pods.
fn for_this(policy: Arc<Policy>, upgrade: Option<&Upgrade>) -> Arc<Policy> {
    let control = upgrade.and_then(|up| up.control.as_ref());
    if !control.is_some_and(Control::is_alone) {
        return policy;
    }
    let mut policy = Policy::clone(&policy);
    policy.drain.skip = true;
    Arc::new(policy)
}

fn outcome(ended: Result<StepEnd, Reason>) -> Outcome {
    match ended {
        Ok(StepEnd::Done(effect)) => Outcome::Done(effect),
        Ok(StepEnd::Cancelled) => Outcome::Cancelled,
        Err(reason) => Outcome::Failed(reason),
    }
}

/// The API server's version now, if a step that the version allows is about to begin and the
/// version is another one. A server that is upgraded, or that another one replaces, keeps the
/// agent's watch, so what was asked at the connection may be hours old. A server that does not
/// answer changes nothing.
async fn another_version<H>(
    tools: &Tools<H>,
    step: &Step,
    known: Option<Version>,
) -> Option<Version> {
    let known = known.filter(|_| is_allowed_by_the_version(step))?;
    let now = tools.cluster.version().await.ok()?;
    (now != known).then_some(now)
}

/// Whether the skew between kubelet and API server decides on this step. From the arming on, the
/// trial continues to its verdict.
const fn is_allowed_by_the_version(step: &Step) -> bool {
    match step {
        Step::Rehearse
        | Step::Deploy { .. }
        | Step::PreHooks
        | Step::Exclude
        | Step::Drain { .. }
        | Step::Snapshot
        | Step::Arm { .. } => true,
        // A fetched image is not judged yet.
        Step::Fetch { .. }
        | Step::Verify { .. }
        | Step::Disarm
        | Step::Reboot { .. }
        | Step::Kubeadm
        | Step::Bless { .. }
        | Step::Reinstate { .. }
        | Step::PostHooks { .. }
        | Step::Release
        | Step::Unmark
        | Step::Settle
        | Step::Undo { .. }
        | Step::Clean
        // The survey compares the versions.
        | Step::Control { .. }
        | Step::Pass => false,
    }
}

/// The pods that are noted, if the old system has run again since.
fn noted(up: &Upgrade) -> Option<Vec<NodePod>> {
    let node = up.served.node.as_ref();
    let node = node.filter(|_| up.attempt.tries > 0)?;
    Some(node.pods.clone())
}

/// The kubelet's version in the image.
fn kubelet(up: &Upgrade) -> Option<Version> {
    let info = up.facts.as_ref()?.info.as_ref()?;
    Some(info.kubernetes.clone())
}

/// The image that the upgrade requested.
fn image(up: &Upgrade) -> Option<Target> {
    match up.wanted() {
        Wanted::Image(target) => Some(target),
        Wanted::Kept => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_of_a_step_names_the_step_and_the_agents_journal() {
        let (cancel, _) = watch::channel(false);
        let (_doing, progress) = watch::channel(None);
        let mut work = Work {
            step: Step::Release,
            id: None,
            doing: progress,
            cancel,
            task: tokio::spawn(async { panic!("a fault") }),
        };
        let ended = work.news().await.unwrap();
        let Outcome::Failed(reason) = ended.finished.outcome else {
            panic!("it did not fail");
        };
        let told = reason.to_string();
        assert!(told.starts_with("Release ended without a result"), "{told}");
        assert!(told.contains("journalctl -u careen-agent"), "{told}");
    }
}
