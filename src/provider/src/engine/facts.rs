//! The input of a decision: plain data that the callers collect.

use requests::{NodeFacts, StaticPod};
use upgrade::Target;

use super::kubelet::Kubelet;
use super::machine::Machine;
use super::other::Other;
use super::server::Server;
use super::why::Why;

/// All input of one decision.
pub struct Facts<'a> {
    /// Seconds since 1970.
    pub now: i64,
    /// Since when both API servers have been visible without a break. Earlier time does not count
    /// against a node: it may have answered unseen, or may have been unable to answer.
    pub seen: i64,
    /// When the workload cluster's API server last sent anything, even without changes. No node's
    /// time expires before the server is heard again: the answer may exist, or may not have
    /// arrived.
    pub heard: i64,
    /// The Machine.
    pub machine: &'a Machine,
    /// Whether an upgrade is wanted, and which one.
    pub road: Road<'a>,
    /// Why the owner is paused. A pause cancels the upgrade like a withdrawal.
    pub paused: Option<&'a str>,
    /// The Machine's Node.
    pub node: NodeView<'a>,
    /// The state of the cluster's control plane.
    pub control_plane: ControlPlane,
    /// The oldest kubelet of the cluster's Machines. It is computed only when the control plane is
    /// to be upgraded, because a cluster may have thousands of Machines.
    pub oldest_kubelet: &'a dyn Fn() -> Option<Kubelet>,
    /// How many Machines of the group work, and how many may work at once.
    pub turns: Turns<'a>,
    /// Limits.
    pub policy: &'a Policy,
}

/// Who requests the upgrade of a Machine.
#[derive(Clone, Copy, Debug)]
pub enum Road<'a> {
    /// Nobody, or nobody any more.
    None,
    /// Core does, but it has not yet said what the Machine should be. The provider started after
    /// core's last call.
    Untold,
    /// Core's UpdateMachine hook, or the annotation on the Machine.
    Desired(&'a Desired),
}

/// The Machine's Node.
#[derive(Clone, Copy, Debug)]
pub enum NodeView<'a> {
    /// The workload cluster is not visible, with the reason.
    Away(&'a str),
    /// The workload cluster is visible and has no such Node.
    Missing,
    /// The Node as last seen.
    Seen(&'a NodeFacts),
}

/// The desired state of a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// The Machine's version, unparsed.
    pub version: String,
    /// The image for that version, or why there is none.
    pub image: Result<Target, Why>,
}

/// What core said in its last UpdateMachine call, or what an annotated Machine and its InfraMachine
/// say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The Machine's version.
    pub version: String,
    /// The image that the InfraMachine names, if any, or why that field cannot be read.
    pub image: Result<Option<Target>, Why>,
}

/// The state of a cluster's control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlane {
    /// The oldest server of the API: the one that answered, or one of the control plane's nodes.
    pub oldest: Option<Server>,
    /// The number of its Machines.
    pub members: usize,
    /// The static pods on this Machine's node, if it is a control plane node.
    pub pods: Vec<StaticPod>,
}

/// Other Machines of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Their number.
    pub count: usize,
    /// One of them, to name to a person.
    pub one: Option<Other>,
}

/// Turns within a group of Machines. They are counted only when needed, because a group may have
/// thousands of Machines.
#[derive(Clone, Copy)]
pub struct Turns<'a> {
    /// Another member of the control plane whose upgrade has halted. Nobody has a turn before a
    /// person has looked at it.
    pub hurt: &'a dyn Fn() -> Option<Other>,
    /// The others that work. If one of them keeps its turn for longer than an upgrade takes, it is
    /// named.
    pub working: &'a dyn Fn() -> Others,
    /// The others that failed and stay failed, where only the provider counts them as unavailable.
    pub failed: &'a dyn Fn() -> Others,
    /// How many may work at once, including this one.
    pub allowed: usize,
    /// The group's name, for a person.
    pub group: &'a str,
}

/// Limits, from flags.
#[derive(Clone, Debug)]
pub struct Policy {
    /// How many minor versions one upgrade of a worker may span.
    pub worker_step: u32,
    /// Seconds within which an agent must accept a request.
    pub answer_seconds: i64,
    /// Seconds within which an upgrade must reach its next phase, without pauses, windows and
    /// soaks.
    pub upgrade_seconds: i64,
    /// Seconds after the mark within which a request reaches its Node or never does.
    pub landing_seconds: i64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            // Kubernetes supports kubelets up to three minor versions older than the API server.
            // kubeadm joins and upgrades workers across that range.
            worker_step: 3,
            // An agent accepts a request within a second. A node that reboots needs minutes.
            answer_seconds: 300,
            // Allows for downloads over slow links and long drains. The agent's own deadlines are
            // shorter.
            upgrade_seconds: 7200,
            // The mark may be 10 s old when the provider sends the request, and the provider gives
            // up after 10 s more. An API server continues a request that it has started for at most
            // 60 s (its --request-timeout).
            landing_seconds: 90,
        }
    }
}
