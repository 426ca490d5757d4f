//! What Careen can do, as plain values. A step can restart after a crash and works out what is left
//! to do.

use serde::{Deserialize, Serialize};

use crate::control_plane::{Done, Task};
use crate::id::Digest;
use crate::image::{Deployment, ImageFacts};
use crate::reason::Reason;
use crate::serving::{NodePod, Serving};
use crate::target::Target;
use crate::version::Version;

/// Where the decision logic runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Home {
    /// The daemon, in the old system or in a trial.
    Agent,
    /// The guard in the initramfs.
    Stage,
}

/// One effect on the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do")]
#[allow(missing_docs)] // the variants say what their fields are
pub enum Step {
    /// Bring the commit into the repository and verify its signature.
    Fetch { target: Target },
    /// Inspect what the commit contains.
    Verify { commit: Digest },
    /// Rehearse what follows: find what would block the drain, and what kubeadm would undo.
    Rehearse,
    /// Write the deployment beside the running one.
    Deploy { commit: Digest },
    /// Run the operator's programs in pre.d.
    PreHooks,
    /// Ask load balancers to exclude the node.
    Exclude,
    /// Cordon and drain.
    Drain {
        /// Seconds of the deadline already used, by an agent that died or by a failed attempt.
        #[serde(default)]
        spent_seconds: u64,
    },
    /// Save the kubelet's state.
    Snapshot,
    /// Write the one-shot entry for this deployment.
    Arm { deployment: Deployment },
    /// Clear the one-shot entry.
    Disarm,
    /// Reboot; by force if a normal reboot did not work.
    Reboot { force: bool },
    /// Run `kubeadm upgrade node` again and restart the kubelet.
    Kubeadm,
    /// Make the new deployment the default and pin the old one.
    Bless {
        commit: Digest,
        /// The default that was seen when the new system was judged. Blessing overrides no other
        /// default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<Deployment>,
    },
    /// Make the old system the default again, if something other than Careen made the system on
    /// trial the default. It is never written as an intent, because the old system's agent may not
    /// know this step. [`NewDefault::Moved`](crate::record::NewDefault::Moved) is written in its
    /// place.
    Reinstate {
        /// The old system.
        deployment: Deployment,
        /// The one on trial. The step overrides no other default.
        over: Deployment,
    },
    /// Run the operator's programs in post.d.
    PostHooks {
        /// The new system is the default.
        upgraded: bool,
    },
    /// Remove Careen's own cordon, and let load balancers include the node again.
    Release,
    /// Remove a mark of ours whose cordon or label is gone. It is never written as an intent,
    /// because released agents do not know this step.
    Unmark,
    /// Remove our shields, because the node has settled. Like [`Self::Unmark`], it is never written
    /// as an intent.
    Settle,
    /// Stop what still runs for this upgrade. Then remove the new deployment and what was fetched
    /// for it.
    Undo {
        /// `None` if a ref or an image was not resolved yet: then only a fetch can be in progress.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<Digest>,
    },
    /// Remove deployments that are no longer needed.
    Clean,
    /// Run one task of careen-control. Like [`Self::Unmark`], it is never written as an intent: each
    /// task works out what is left to do.
    Control { task: Task },
    /// In the initramfs: let this boot continue.
    Pass,
}

impl Step {
    /// The kind of this step.
    #[must_use]
    pub const fn kind(&self) -> StepKind {
        match self {
            Self::Fetch { .. } => StepKind::Fetch,
            Self::Verify { .. } => StepKind::Verify,
            Self::Rehearse => StepKind::Rehearse,
            Self::Deploy { .. } => StepKind::Deploy,
            Self::PreHooks => StepKind::PreHooks,
            Self::Exclude => StepKind::Exclude,
            Self::Drain { .. } => StepKind::Drain,
            Self::Snapshot => StepKind::Snapshot,
            Self::Arm { .. } => StepKind::Arm,
            Self::Disarm => StepKind::Disarm,
            Self::Reboot { .. } => StepKind::Reboot,
            Self::Kubeadm => StepKind::Kubeadm,
            Self::Bless { .. } => StepKind::Bless,
            Self::Reinstate { .. } => StepKind::Reinstate,
            Self::PostHooks { .. } => StepKind::PostHooks,
            Self::Release => StepKind::Release,
            Self::Unmark => StepKind::Unmark,
            Self::Settle => StepKind::Settle,
            Self::Undo { .. } => StepKind::Undo,
            Self::Clean => StepKind::Clean,
            Self::Control { task } => StepKind::Control(*task),
            Self::Pass => StepKind::Pass,
        }
    }

    /// The step's name, for display.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Whether the step may be taken in this home: the stage never drains, the agent never lets a
    /// boot through.
    #[must_use]
    pub const fn at_home(&self, home: Home) -> bool {
        match (home, self.in_the_stage()) {
            (Home::Agent, Some(StageStep::Pass)) | (Home::Stage, None) => false,
            (Home::Agent, Some(StageStep::Disarm | StageStep::Reboot) | None) => true,
            (Home::Stage, Some(_)) => true,
        }
    }

    /// The step in the stage's own type; `None` for a step that only the agent takes.
    #[must_use]
    pub const fn in_the_stage(&self) -> Option<StageStep> {
        match self.kind() {
            StepKind::Pass => Some(StageStep::Pass),
            StepKind::Disarm => Some(StageStep::Disarm),
            StepKind::Reboot => Some(StageStep::Reboot),
            StepKind::Fetch
            | StepKind::Verify
            | StepKind::Rehearse
            | StepKind::Deploy
            | StepKind::PreHooks
            | StepKind::Exclude
            | StepKind::Drain
            | StepKind::Snapshot
            | StepKind::Arm
            | StepKind::Kubeadm
            | StepKind::Bless
            | StepKind::Reinstate
            | StepKind::PostHooks
            | StepKind::Release
            | StepKind::Unmark
            | StepKind::Settle
            | StepKind::Undo
            | StepKind::Clean
            | StepKind::Control(_) => None,
        }
    }
}

/// A step that the stage takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageStep {
    /// Let this boot continue.
    Pass,
    /// Clear the one-shot entry.
    Disarm,
    /// End this boot.
    Reboot,
}

/// A step without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // they are the variants of [`Step`]
pub enum StepKind {
    Fetch,
    Verify,
    Rehearse,
    Deploy,
    PreHooks,
    Exclude,
    Drain,
    Snapshot,
    Arm,
    Disarm,
    Reboot,
    Kubeadm,
    Bless,
    Reinstate,
    PostHooks,
    Release,
    Unmark,
    Settle,
    Undo,
    Clean,
    Control(Task),
    Pass,
}

impl StepKind {
    /// All kinds of steps.
    pub const ALL: [Self; 28] = [
        Self::Fetch,
        Self::Verify,
        Self::Rehearse,
        Self::Deploy,
        Self::PreHooks,
        Self::Exclude,
        Self::Drain,
        Self::Snapshot,
        Self::Arm,
        Self::Disarm,
        Self::Reboot,
        Self::Kubeadm,
        Self::Bless,
        Self::Reinstate,
        Self::PostHooks,
        Self::Release,
        Self::Unmark,
        Self::Settle,
        Self::Undo,
        Self::Clean,
        Self::Control(Task::Survey),
        Self::Control(Task::Lock),
        Self::Control(Task::SaveEtcd),
        Self::Control(Task::Raise),
        Self::Control(Task::GiveUp),
        Self::Control(Task::Yield),
        Self::Control(Task::Unlock),
        Self::Pass,
    ];

    /// The name, for display and in the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fetch => "Fetch",
            Self::Verify => "Verify",
            Self::Rehearse => "Rehearse",
            Self::Deploy => "Deploy",
            Self::PreHooks => "PreHooks",
            Self::Exclude => "Exclude",
            Self::Drain => "Drain",
            Self::Snapshot => "Snapshot",
            Self::Arm => "Arm",
            Self::Disarm => "Disarm",
            Self::Reboot => "Reboot",
            Self::Kubeadm => "Kubeadm",
            Self::Bless => "Bless",
            Self::Reinstate => "Reinstate",
            Self::PostHooks => "PostHooks",
            Self::Release => "Release",
            Self::Unmark => "Unmark",
            Self::Settle => "Settle",
            Self::Undo => "Undo",
            Self::Clean => "Clean",
            Self::Control(task) => task.name(),
            Self::Pass => "Pass",
        }
    }

    /// The kind that has this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How a step ended.
#[expect(clippy::large_enum_variant, reason = "only one step runs at a time")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, or was done already.
    Done(Effect),
    /// It failed.
    Failed(Reason),
    /// It was aborted because the request was withdrawn.
    Cancelled,
}

/// What a step found out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the variants say what their fields are
pub enum Effect {
    /// Nothing.
    Plain,
    /// The commit that the target resolved to.
    Fetched { commit: Digest },
    /// What the commit contains.
    Verified(ImageFacts),
    /// What blocks the drain, if anything.
    Rehearsed { blocked: Option<Reason> },
    /// How the machine served before the pre-hooks ran, without what the API server knows of it.
    Prepared { serving: Serving },
    /// How the node served when the drain began.
    Drained { serving: Serving },
    /// The kubelet's state is saved. `pods` are those that belong to the node now, if the agent has
    /// looked.
    Saved { pods: Option<Vec<NodePod>> },
    /// The new deployment.
    Deployed(Deployment),
    /// What careen-control answered.
    Controlled(Done),
}

/// A step that has just ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The step.
    pub step: Step,
    /// How it ended.
    pub outcome: Outcome,
}

/// Checks the version skew between a kubelet and the API server against the policy.
///
/// # Errors
/// The reason why the kubelet may not talk to this server
/// (<https://kubernetes.io/releases/version-skew-policy/#kubelet>).
pub fn skew(kubelet: &Version, server: &Version, allowed: u32) -> Result<(), Reason> {
    let newer = (kubelet.major(), kubelet.minor()) > (server.major(), server.minor());
    if newer {
        return Err(Reason::NewerThanApiServer {
            kubelet: kubelet.clone(),
            server: server.clone(),
        });
    }
    if server.minor().saturating_sub(kubelet.minor()) > allowed {
        let (kubelet, server) = (kubelet.clone(), server.clone());
        return Err(Reason::SkewTooLarge {
            kubelet,
            server,
            allowed,
        });
    }
    Ok(())
}
