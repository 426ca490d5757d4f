//! The interface between the loop and a node. The code that needs systemd, libostree or a kubelet
//! is on the other side of it. So everything on this side, including the API server, runs
//! unmodified in tests.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

pub use cri::RunningPod;
use tokio::sync::watch;
use upgrade::control_plane::Survey;
use upgrade::observe::{Causes, Check};
use upgrade::plan::{Found, Look};
use upgrade::serving::{Limits, Serving, Units};
use upgrade::step::{Effect, StepKind};
use upgrade::{Doing, NoNetwork, Observation, Policy, Reason, Record, UpgradeId, Version};

use crate::metrics::Disk;
use crate::task::Task;

/// What a step needs to be performed.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The step.
    pub step: StepKind,
    /// The upgrade that the step belongs to, or `None` for a step outside any upgrade.
    pub id: Option<UpgradeId>,
    /// The policy in force.
    pub policy: Arc<Policy>,
    /// Becomes true when the step must stop.
    pub cancel: watch::Receiver<bool>,
    /// Receives the step's progress.
    pub doing: watch::Sender<Option<Doing>>,
}

impl Errand {
    /// The upgrade that the step belongs to.
    ///
    /// # Errors
    /// The step belongs to no upgrade.
    pub fn upgrade(&self) -> Result<&UpgradeId, Reason> {
        self.id.as_ref().ok_or_else(|| self.not_ours())
    }

    /// The decision never asks an agent for this step.
    pub(crate) fn not_ours(&self) -> Reason {
        Reason::DeployFailed {
            verb: self.step.name().to_owned(),
            detail: "it is not part of an upgrade here".to_owned(),
        }
    }

    /// Runs the work until it ends or the step is cancelled.
    ///
    /// # Errors
    /// The error of the work.
    pub async fn unless_cancelled(
        &self,
        work: impl Future<Output = Result<(), Reason>>,
    ) -> Result<StepEnd, Reason> {
        let mut cancel = self.cancel.clone();
        tokio::select! {
            done = work => done.map(|()| StepEnd::Done(Effect::Plain)),
            Ok(_) = cancel.wait_for(|cancel| *cancel) => Ok(StepEnd::Cancelled),
        }
    }
}

/// What the agent needs to look at an image for a plan.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// The image.
    pub look: Look,
    /// The policy in force.
    pub policy: Arc<Policy>,
    /// Becomes true when the look must stop.
    pub cancel: watch::Receiver<bool>,
}

/// How work ended without an error.
#[expect(clippy::large_enum_variant, reason = "only one runs at a time")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The work is done.
    Done(Effect),
    /// The work stopped because it was cancelled.
    Cancelled,
}

/// The checks of a trial that do not need the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The container runtime answers.
    pub runtime: Check,
    /// The kubelet's healthz answers.
    pub kubelet: Check,
    /// The container runtime starts a pod sandbox in the node's own network.
    pub sandbox: Check,
    /// A pod sandbox gets an address.
    pub pod_network: Check,
    /// The kubelet's client certificate has not expired.
    pub credential: Check,
    /// `kubeadm upgrade node` has succeeded for this upgrade.
    pub kubeadm: Check,
    /// Why this node has no route to the API server, if it has none.
    pub network: Result<(), NoNetwork>,
    /// Careen's own last check before the kubelet, and the checks of `required.d`.
    pub required: Vec<(String, Check)>,
    /// What systemd says of its units, once it has answered.
    pub units: Option<Units>,
    /// What the kernel and the system have for pods.
    pub system: BTreeSet<String>,
    /// What the system sets and brings for the network and the volumes of pods, once systemd has
    /// answered.
    pub settings: Option<BTreeSet<String>>,
    /// What a container gets at most, once systemd has answered.
    pub limits: Option<Limits>,
    /// What the kernel has or can load of what was in use before the drain.
    pub kernel: Option<BTreeSet<String>>,
    /// Where the cause is of what does not pass.
    pub causes: Causes,
}

impl Local {
    /// Whether pods can run here, as far as this machine can tell.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.runtime == Check::Pass && self.kubelet == Check::Pass
    }
}

/// Access to a node: what the agent observes and performs there.
pub trait NodeAccess: Send + Sync + 'static {
    /// Looks at the machine. `record` says what else to look at. What the machine cannot show
    /// (request, API server, step, health) stays unknown; the loop knows it.
    ///
    /// # Errors
    /// The agent cannot determine what boots here. The message is for a person.
    fn look(&self, record: &Record) -> Result<Observation, String>;

    /// The root of the running system, below which the node's own settings are. `None` for a
    /// machine without a kubelet.
    fn root(&self) -> Option<&Path> {
        None
    }

    /// Room on the disk. Called only when a client asks for metrics.
    fn disk(&self) -> Disk {
        Disk::default()
    }

    /// Looks at an image for a plan, without a change to the systems on this node. It ends soon
    /// after it is cancelled, and a step that runs meanwhile does not wait for it: the
    /// implementation must ensure both.
    ///
    /// # Errors
    /// Why the image is not available.
    fn look_ahead(&self, ahead: Ahead) -> impl Future<Output = Result<Found, Reason>> + Send;

    /// Surveys the control plane of this node for a plan of an image of this version. `None` on a
    /// worker.
    ///
    /// # Errors
    /// Why it could not be surveyed.
    fn survey(
        &self,
        version: Option<&Version>,
        policy: &Policy,
    ) -> impl Future<Output = Result<Option<Survey>, Reason>> + Send {
        let _ = (version, policy);
        std::future::ready(Ok(None))
    }

    /// Performs the task of a step.
    fn perform(
        &self,
        task: Task,
        errand: Errand,
    ) -> impl Future<Output = Result<StepEnd, Reason>> + Send;

    /// Tries on the running system what would only fail once the node is taken from its users: the
    /// operator's required checks, and the limits of the snapshot. It changes nothing.
    ///
    /// # Errors
    /// What would fail.
    fn rehearse(&self, policy: &Policy) -> impl Future<Output = Result<(), Reason>> + Send {
        let _ = policy;
        std::future::ready(Ok(()))
    }

    /// The part of [`Self::rehearse`] that the policy's `[health]` decides: the operator's required
    /// checks. It changes nothing.
    ///
    /// # Errors
    /// The first check that does not pass, if the policy demands it.
    fn passes_checks(&self, policy: &Policy) -> impl Future<Output = Result<(), Reason>> + Send {
        let _ = policy;
        std::future::ready(Ok(()))
    }

    /// Asks the runtime of this machine for a pod sandbox, if the policy demands one of the new
    /// system. It changes nothing.
    ///
    /// # Errors
    /// The runtime refuses, time and again.
    fn starts_pods(&self, policy: &Policy) -> impl Future<Output = Result<(), Reason>> + Send {
        let _ = policy;
        std::future::ready(Ok(()))
    }

    /// The pods of which a container runs on this machine, as its container runtime says, without
    /// static pods.
    ///
    /// # Errors
    /// The runtime does not answer. The message is for a person.
    fn running_pods(&self) -> impl Future<Output = Result<Vec<RunningPod>, String>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    /// How this machine serves, without what the API server knows of it.
    fn serves(&self, policy: &Policy) -> impl Future<Output = Serving> + Send;

    /// Checks a trial until it is dropped, and reports each change. `served` is how the old system
    /// served.
    fn check(
        &self,
        id: UpgradeId,
        served: Serving,
        policy: Arc<Policy>,
        found: watch::Sender<Option<Local>>,
    ) -> impl Future<Output = ()> + Send;
}
