//! Performs a step: one exhaustive match, in [`perform`].
//!
//! The API server performs some steps ([`drain`]). For the others the machine does a [`Task`]; the
//! other files here are the implementation for a real machine.

pub mod arm;
pub mod control;
pub mod deploy;
mod drain;
pub mod hooks;
pub mod kubeadm;
mod oneshot;
pub mod reboot;
pub mod snapshot;
mod tried;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use upgrade::serving::{NodePod, Serving};
use upgrade::step::Effect;
use upgrade::{Deployment, Membership, Reason, Step, Target, Version};

use crate::access::{Errand, NodeAccess, StepEnd};
use crate::cluster::Cluster;
use crate::task::{ControlOrder, HookPoint, Task, Verb};

pub use drain::Held;

/// How long a reboot waits for the report to the Node.
const LAST_WORD: Duration = Duration::from_secs(3);

/// What every step may use.
pub struct Tools<H> {
    /// The node.
    pub node: Arc<H>,
    /// The API server.
    pub cluster: Arc<Cluster>,
    /// Becomes true when nothing is left to report to the Node.
    pub told: watch::Receiver<bool>,
    /// What this agent remembers from one step to the next.
    pub held: Held,
    /// Where a drain notes the volumes that it waits for.
    pub volumes: Arc<Path>,
}

impl<H> Clone for Tools<H> {
    fn clone(&self) -> Self {
        let (node, cluster) = (Arc::clone(&self.node), Arc::clone(&self.cluster));
        Self {
            node,
            cluster,
            told: self.told.clone(),
            held: self.held.clone(),
            volumes: Arc::clone(&self.volumes),
        }
    }
}

/// A step and its subject.
pub struct Order {
    /// The step.
    pub step: Step,
    /// The image that the upgrade requested, or `None` for a system that is already on this disk.
    pub image: Option<Target>,
    /// The name of the Node, as far as it is known.
    pub node: Option<String>,
    /// Whether this machine is a node of a cluster.
    pub membership: Membership,
    /// Whether the upgrade has taken the node from its users and not given it back.
    pub is_taken: bool,
    /// The kubelet's version in the image, once it is known.
    pub kubelet: Option<Version>,
    /// The image on the disk, once it is written.
    pub deployment: Option<Deployment>,
    /// Whether the upgrade has had a trial.
    pub has_tried: bool,
    /// The pods that the upgrade noted, if it has had a trial since.
    pub noted: Option<Vec<NodePod>>,
}

/// Performs a step.
///
/// # Errors
/// Why the step failed.
pub async fn perform<H: NodeAccess>(
    tools: &Tools<H>,
    order: Order,
    errand: Errand,
) -> Result<StepEnd, Reason> {
    let server = drain::Server {
        cluster: &tools.cluster,
        node: order.node.as_deref(),
        errand: &errand,
        held: &tools.held,
        volumes: &tools.volumes,
    };
    let system = drain::System {
        root: tools.node.root(),
        kubelet: order.kubelet.as_ref(),
    };
    let task = match order.step {
        Step::Rehearse => {
            return match try_checks(tools, &errand, true).await? {
                StepEnd::Cancelled => Ok(StepEnd::Cancelled),
                StepEnd::Done(_) => server.rehearse(system).await,
            };
        }
        Step::Exclude => return server.exclude().await,
        Step::Drain { spent_seconds } => {
            // A drain that goes on, or that follows a trial, finds a node that others do not use.
            if spent_seconds == 0 && !order.has_tried {
                let is_due = !tools.held.is_fresh(&errand.policy);
                if try_checks(tools, &errand, is_due).await? == StepEnd::Cancelled {
                    return Ok(StepEnd::Cancelled);
                }
            }
            let serves = tools.node.serves(&errand.policy);
            let machine = &*tools.node;
            return server.drain(spent_seconds, system, machine, serves).await;
        }
        Step::Release => return release(server, order.membership).await,
        Step::Unmark => return server.unmark(order.is_taken).await,
        Step::Settle => return server.settle().await,
        Step::Fetch { target } => Task::Deploy(Verb::Fetch { target }),
        Step::Verify { commit } => Task::Deploy(Verb::Verify { commit }),
        Step::Deploy { commit } => Task::Deploy(Verb::Deploy {
            commit,
            image: order.image,
        }),
        Step::Bless { commit, over } => Task::Deploy(Verb::Bless { commit, over }),
        Step::Reinstate { deployment, over } => Task::Deploy(Verb::Reinstate { deployment, over }),
        Step::Undo { commit } => Task::Deploy(Verb::Undo { commit }),
        Step::Clean => Task::Deploy(Verb::Clean),
        Step::PreHooks => return pre_hooks(tools, errand).await,
        Step::PostHooks { upgraded } => Task::Hooks(HookPoint::Post { upgraded }),
        Step::Snapshot => {
            let pods = server.pods(order.noted.as_deref()).await;
            return snapshot(tools, errand, pods).await;
        }
        Step::Arm { deployment } => {
            if ask(&server, order.membership, system).await? == StepEnd::Cancelled {
                return Ok(StepEnd::Cancelled);
            }
            let work = tried::before_arming(&*tools.node, &tools.held, &errand.policy);
            if errand.unless_cancelled(work).await? == StepEnd::Cancelled {
                return Ok(StepEnd::Cancelled);
            }
            Task::Arm(deployment)
        }
        Step::Disarm => Task::Disarm,
        Step::Kubeadm => Task::Kubeadm,
        Step::Control { task } => Task::Control(ControlOrder {
            task,
            version: order.kubelet,
            deployment: order.deployment,
        }),
        Step::Reboot { force } => {
            if !force {
                last_word(tools.told.clone()).await;
            }
            Task::Reboot { force }
        }
        // Only the stage lets a boot continue.
        Step::Pass => return Err(errand.not_ours()),
    };
    tools.node.perform(task, errand).await
}

/// Runs the operator's checks in the old system, where they must pass.
async fn try_checks<H: NodeAccess>(
    tools: &Tools<H>,
    errand: &Errand,
    is_due: bool,
) -> Result<StepEnd, Reason> {
    let work = tried::out(&*tools.node, &errand.policy, is_due);
    errand.unless_cancelled(work).await
}

/// Gives the node back to its users. A machine without a cluster has no Node.
async fn release(server: drain::Server<'_>, membership: Membership) -> Result<StepEnd, Reason> {
    match membership {
        Membership::Joined => server.release().await,
        Membership::Unjoined => Ok(StepEnd::Done(Effect::Plain)),
    }
}

/// Asks the API server for the last time before the arming. On a machine without a kubelet, kubeadm
/// changes nothing that would need an answer.
async fn ask(
    server: &drain::Server<'_>,
    membership: Membership,
    system: drain::System<'_>,
) -> Result<StepEnd, Reason> {
    match membership {
        Membership::Joined => server.ask_before_arming(system).await,
        Membership::Unjoined => Ok(StepEnd::Done(Effect::Plain)),
    }
}

/// Saves the kubelet's state, and notes these pods with it.
async fn snapshot<H: NodeAccess>(
    tools: &Tools<H>,
    errand: Errand,
    pods: Option<Vec<NodePod>>,
) -> Result<StepEnd, Reason> {
    Ok(match tools.node.perform(Task::Snapshot, errand).await? {
        StepEnd::Done(_) => StepEnd::Done(Effect::Saved { pods }),
        StepEnd::Cancelled => StepEnd::Cancelled,
    })
}

/// Notes how the machine serves, then runs the hooks, which may stop something.
async fn pre_hooks<H: NodeAccess>(tools: &Tools<H>, errand: Errand) -> Result<StepEnd, Reason> {
    let mut serving = Serving::default();
    let note = async {
        serving = tools.node.serves(&errand.policy).await;
        Ok(())
    };
    if errand.unless_cancelled(note).await? == StepEnd::Cancelled {
        return Ok(StepEnd::Cancelled);
    }
    let ended = tools
        .node
        .perform(Task::Hooks(HookPoint::Pre), errand)
        .await?;
    Ok(match ended {
        StepEnd::Done(_) => StepEnd::Done(Effect::Prepared { serving }),
        StepEnd::Cancelled => StepEnd::Cancelled,
    })
}

/// Waits briefly until the Node has the last report, because the agent cannot report after this.
async fn last_word(mut told: watch::Receiver<bool>) {
    let _ = tokio::time::timeout(LAST_WORD, told.wait_for(|told| *told)).await;
}
