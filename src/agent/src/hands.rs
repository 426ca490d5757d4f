//! The line between the loop and a node: what needs systemd, libostree or a kubelet lies behind it, so that everything in
//! front of it, the API server included, runs for real in tests.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;
use upgrade::observe::Check;
use upgrade::plan::{Found, Look};
use upgrade::step::{Effect, StepKind};
use upgrade::{Doing, NoNetwork, Observation, Policy, Reason, Record, UpgradeId};

use crate::metrics::Disk;
use crate::task::Task;

/// What a step needs to be performed.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The step.
    pub step: StepKind,
    /// The upgrade that it belongs to; nothing for a step outside any.
    pub id: Option<UpgradeId>,
    /// The policy in force.
    pub policy: Arc<Policy>,
    /// Becomes true when the step is to be given up.
    pub cancel: watch::Receiver<bool>,
    /// Where it says how far it is.
    pub doing: watch::Sender<Option<Doing>>,
}

impl Errand {
    /// The upgrade that the step belongs to.
    ///
    /// # Errors
    /// When it belongs to none.
    pub fn upgrade(&self) -> Result<&UpgradeId, Reason> {
        self.id.as_ref().ok_or_else(|| self.not_ours())
    }

    /// The brain never asks this step of an agent.
    pub(crate) fn not_ours(&self) -> Reason {
        Reason::DeployFailed {
            verb: self.step.name().to_owned(),
            detail: "it is not part of an upgrade here".to_owned(),
        }
    }

    /// Works until the work is done or the step is to be given up.
    ///
    /// # Errors
    /// As the work.
    pub async fn unless_cancelled(
        &self,
        work: impl Future<Output = Result<(), Reason>>,
    ) -> Result<Ended, Reason> {
        let mut cancel = self.cancel.clone();
        tokio::select! {
            done = work => done.map(|()| Ended::Done(Effect::Plain)),
            Ok(_) = cancel.wait_for(|cancel| *cancel) => Ok(Ended::Cancelled),
        }
    }
}

/// What looking at an image for a plan needs.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// The image.
    pub look: Look,
    /// The policy in force.
    pub policy: Arc<Policy>,
    /// Becomes true when it is to be given up.
    pub cancel: watch::Receiver<bool>,
}

/// How an errand ended well.
#[expect(clippy::large_enum_variant, reason = "only one runs at a time")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is done.
    Done(Effect),
    /// It was given up because it was told to.
    Cancelled,
}

/// The checks of a trial that need no API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The container runtime answers.
    pub runtime: Check,
    /// The kubelet's healthz answers.
    pub kubelet: Check,
    /// The kubelet's client certificate has not run out.
    pub credential: Check,
    /// `kubeadm upgrade node` has succeeded for this upgrade.
    pub kubeadm: Check,
    /// What this node lacks of a way to the API server.
    pub network: Result<(), NoNetwork>,
    /// Our own last check before the kubelet, and those of `required.d`.
    pub required: Vec<(String, Check)>,
}

impl Local {
    /// Whether pods can run here, as far as this machine knows.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.runtime == Check::Pass && self.kubelet == Check::Pass
    }
}

/// A node's hands.
pub trait Hands: Send + Sync + 'static {
    /// Looks at the machine. `record` says what else is worth a look. What the machine cannot show (request, API server, step,
    /// health) is left unknown; the loop knows it.
    ///
    /// # Errors
    /// In a person's words, when what boots here cannot be made out.
    fn look(&self, record: &Record) -> Result<Observation, String>;

    /// Room on the disk. Asked for only when somebody asks for metrics.
    fn disk(&self) -> Disk {
        Disk::default()
    }

    /// Looks at an image for a plan; nothing of the systems on this node changes. It ends soon when it is told to, and a step
    /// that is performed meanwhile does not wait for it: whoever performs it sees to that.
    ///
    /// # Errors
    /// Why the image cannot be had.
    fn look_ahead(&self, ahead: Ahead) -> impl Future<Output = Result<Found, Reason>> + Send;

    /// Does the task of a step.
    fn perform(
        &self,
        task: Task,
        errand: Errand,
    ) -> impl Future<Output = Result<Ended, Reason>> + Send;

    /// Checks a trial for ever, and says what changes.
    fn check(
        &self,
        id: UpgradeId,
        policy: Arc<Policy>,
        found: watch::Sender<Option<Local>>,
    ) -> impl Future<Output = ()> + Send;
}
