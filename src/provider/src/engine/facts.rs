//! What is known when a decision is taken: plain data, put together by the callers.

use requests::{NodeFacts, StaticPod};
use upgrade::{Target, Version};

use super::{Machine, Why};

/// Everything that one decision is taken on.
pub struct Facts<'a> {
    /// Seconds since 1970.
    pub now: i64,
    /// Since when both API servers have been seen without a break. Time before that is held against no node: it may have answered, or
    /// not have been able to.
    pub seen: i64,
    /// When the workload cluster's API server was heard last, be it with nothing new. No node's time is over before it is heard again:
    /// the answer may be there, or not have come through.
    pub heard: i64,
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
    /// The oldest kubelet of the cluster's Machines. Looked for only when its control plane is to
    /// go further: a cluster may have thousands.
    pub oldest_kubelet: &'a dyn Fn() -> Option<Kubelet>,
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

/// What a Machine should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The Machine's version, as it stands there.
    pub version: String,
    /// The image for it, or why there is none.
    pub image: Result<Target, Why>,
}

/// What core said when it called UpdateMachine last, or a Machine that is annotated and its InfraMachine say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The Machine's version.
    pub version: String,
    /// The image that the InfraMachine names itself, if it names one; or why that cannot be read.
    pub image: Result<Option<Target>, Why>,
}

/// What is known of a cluster's control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlane {
    /// The oldest version that serves the API: of the server that answered and of the control plane's nodes.
    pub oldest: Option<Version>,
    /// The static pods on this Machine's node, when it is one of the control plane.
    pub pods: Vec<StaticPod>,
}

/// A kubelet's version, and whose it is: a node writes it itself, so a person must be able to find
/// it, and to leave it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubelet {
    /// The version.
    pub version: Version,
    /// Its Node.
    pub node: String,
    /// Its Machine.
    pub machine: String,
}

/// Other Machines of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub count: usize,
    /// One of them that a person is told of.
    pub one: Option<Other>,
}

/// Another Machine of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its name.
    pub machine: String,
    /// Its Node's.
    pub node: String,
}

impl Other {
    /// This Machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        Self {
            machine: machine.name.clone(),
            node: machine.node.clone().unwrap_or_default(),
        }
    }
}

/// Turns within a group of Machines. Counted only when somebody wants one: a group may have thousands.
#[derive(Clone, Copy)]
pub struct Turns<'a> {
    /// The others that work; among them the one that keeps its turn for longer than an upgrade
    /// takes, if one does.
    pub working: &'a dyn Fn() -> Others,
    /// The others that have failed and stand still with that, where nobody but us counts them as
    /// away.
    pub failed: &'a dyn Fn() -> Others,
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
    /// Seconds within which an agent must accept a request.
    pub answer_seconds: i64,
    /// Seconds within which an upgrade must reach its next phase, without pauses, windows and soaks.
    pub upgrade_seconds: i64,
    /// Seconds after its mark within which a request has reached its Node or never will.
    pub landing_seconds: i64,
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
            // The mark may be 10 s old when the request is sent, we give up after 10 s more, and an API server carries on with what it
            // has begun for 60 s at most (its --request-timeout).
            landing_seconds: 90,
        }
    }
}
