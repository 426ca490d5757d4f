//! What is known when a decision is taken: plain data, put together by the callers.

use std::collections::BTreeMap;

use upgrade::report::{Answer, Status};
use upgrade::{Target, UpgradeId, Version};

use super::{Mark, Why};

/// Everything that one decision is taken on.
pub struct Facts<'a> {
    /// Seconds since 1970.
    pub now: i64,
    /// The Machine.
    pub machine: &'a Machine,
    /// Why an upgrade is wanted, and which.
    pub road: Road<'a>,
    /// The owner is paused, in words; cancels as a withdrawal does.
    pub paused: Option<&'a str>,
    /// The Machine's Node.
    pub node: NodeView<'a>,
    /// What is known of the cluster's control plane.
    pub control_plane: ControlPlane,
    /// How many of the Machine's group work, and how many may.
    pub turns: Turns<'a>,
    /// Limits.
    pub policy: &'a Policy,
}

/// Who asks for the upgrade of a Machine.
#[derive(Clone, Copy, Debug)]
pub enum Road<'a> {
    /// Nobody, or nobody any more.
    None,
    /// Core does, but it has not said yet what the Machine should be (we are younger than its last call).
    Untold,
    /// Core's UpdateMachine hook or the annotation on the Machine.
    Wanted(&'a Wanted),
}

/// What a Machine should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The Machine's version, as it stands there.
    pub version: String,
    /// The image for it, or why there is none.
    pub image: Result<Target, Why>,
}

/// What core said when it called UpdateMachine last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The Machine's version.
    pub version: String,
    /// The image that the InfraMachine names itself.
    pub image: Option<Target>,
}

/// A Machine, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resource version: who writes says what it saw.
    pub resource_version: String,
    /// The Cluster's name.
    pub cluster: String,
    /// Its version, as it stands there.
    pub version: Option<String>,
    /// Its provider id.
    pub provider_id: Option<String>,
    /// The name of its Node.
    pub node: Option<String>,
    /// It is being deleted.
    pub deleting: bool,
    /// It is paused by annotation.
    pub paused: bool,
    /// It belongs to the control plane.
    pub control_plane: bool,
    /// Its MachineDeployment.
    pub deployment: Option<String>,
    /// Core has marked it for an update in place.
    pub in_progress: bool,
    /// Core has [`crate::names::UPDATE_MACHINE`] to call for it.
    pub hook_pending: bool,
    /// It is annotated with [`crate::names::ASK`].
    pub asked: bool,
    /// Value of [`crate::names::RETRY`].
    pub retry: Option<String>,
    /// Our mark.
    pub mark: Option<Mark>,
    /// It has the annotation [`crate::names::SKIP_REMEDIATION`], whoever wrote it.
    pub skips_remediation: bool,
    /// Its labels, for the catalogue's selectors.
    pub labels: BTreeMap<String, String>,
    /// Its InfraMachine: API group, kind, name.
    pub infra: Option<(String, String, String)>,
}

impl Machine {
    /// Core updates it in place, and says by its calls to what. Before the hook is pending the Machine's owner still writes what it
    /// should be, and nothing of that stands until it is done; behind it nothing changes any more (Cluster API,
    /// machine_controller_inplace_update.go).
    #[must_use]
    pub const fn is_called_for(&self) -> bool {
        self.in_progress && self.hook_pending
    }
}

/// The Machine's Node.
#[derive(Clone, Copy, Debug)]
pub enum NodeView<'a> {
    /// The workload cluster cannot be seen, and why.
    Away(&'a str),
    /// It can be seen and has no such Node.
    Missing,
    /// As it was seen last.
    Seen(&'a NodeFacts),
}

/// A Node, as far as it matters: a few hundred bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resource version: who writes says what it saw.
    pub resource_version: String,
    /// Its provider id.
    pub provider_id: Option<String>,
    /// `amd64`, `arm64`, ...
    pub architecture: String,
    /// The kubelet says Ready.
    pub ready: bool,
    /// Nothing is scheduled to it.
    pub cordoned: bool,
    /// The kubelet's version, as it says it.
    pub kubelet: String,
    /// It is labelled as part of the control plane.
    pub control_plane: bool,
    /// The request that stands there, if it is `Scheduled`.
    pub requested: bool,
    /// The image that is asked for.
    pub image: Option<String>,
    /// The version that is asked for.
    pub version: Option<String>,
    /// The id of what is asked for.
    pub id: Option<String>,
    /// Why nothing new may be begun on it.
    pub paused: Option<String>,
    /// The agent's answer.
    pub answer: Option<Answer>,
    /// The agent's details; nothing when there are none or they cannot be read.
    pub status: Option<Status>,
    /// There are details that cannot be read.
    pub unreadable: bool,
    /// Why it failed.
    pub failure: Option<String>,
}

impl NodeFacts {
    /// The answer to this request, and to no other.
    #[must_use]
    pub fn answer_to(&self, id: &UpgradeId) -> Option<(Answer, &Status)> {
        let status = self.status.as_ref()?;
        (status.id.as_ref() == Some(id))
            .then_some(self.answer?)
            .map(|answer| (answer, status))
    }

    /// The id that the agent answers to at the moment.
    #[must_use]
    pub fn answered_id(&self) -> Option<&str> {
        self.status.as_ref()?.id.as_ref().map(UpgradeId::as_str)
    }

    /// It works on a request, or has one before it that it has not answered.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        let working = self.answer == Some(Answer::InProgress);
        let waiting =
            self.requested && self.id.is_some() && self.id.as_deref() != self.answered_id();
        working || waiting
    }
}

/// A static pod of a control-plane node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticPod {
    /// `kube-apiserver`, ...
    pub component: String,
    /// The tag of its image, when it has one.
    pub version: Option<String>,
    /// It is Ready.
    pub ready: bool,
}

/// What is known of a cluster's control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlane {
    /// The oldest version that serves the API: of the server that answered and of the control plane's nodes.
    pub oldest: Option<Version>,
    /// The static pods on this Machine's node, when it is one of the control plane.
    pub pods: Vec<StaticPod>,
}

/// Turns within a group of Machines. Counted only when somebody wants one: a group may have thousands.
#[derive(Clone, Copy)]
pub struct Turns<'a> {
    /// How many others work.
    pub working: &'a dyn Fn() -> usize,
    /// How many may, this one included.
    pub allowed: usize,
    /// The group, for a person.
    pub group: &'a str,
}

/// Limits, from flags.
#[derive(Clone, Debug)]
pub struct Policy {
    /// How many minor versions a worker may be upgraded by at once.
    pub worker_step: u32,
    /// Seconds within which an agent must take a request up.
    pub answer_seconds: i64,
    /// Seconds within which an upgrade must reach its next phase, pauses, hours and soaks left out.
    pub upgrade_seconds: i64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            // Kubernetes supports kubelets up to three minors behind; kubeadm joins and upgrades workers across those.
            worker_step: 3,
            // An agent takes a request up within a second; a node that reboots needs minutes.
            answer_seconds: 300,
            // Downloads over thin lines and long drains; the agent's own deadlines are shorter.
            upgrade_seconds: 7200,
        }
    }
}
