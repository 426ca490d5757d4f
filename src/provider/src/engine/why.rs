//! Why an upgrade does not continue. Each reason has a type, and one text for the hook's message,
//! the condition and the log.

use thiserror::Error;
use upgrade::Version;
use upgrade::reason::bare;

use super::kubelet::Kubelet;
use super::other::Other;
use super::server::Server;

/// What blocks the upgrade. Decisions use the variant, never the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
// The message names each field.
#[allow(missing_docs)]
pub enum Why {
    /// The catalogue has no entry for the Machine.
    #[error(
        "no ImageCatalogue has an entry for {version} that fits {machine}. Add one (kubectl edit imagecatalogues)."
    )]
    NoImage { version: String, machine: String },
    /// Two entries match equally well.
    #[error(
        "two ImageCatalogue entries for {version} fit {machine} equally well: {first} and {second}. Keep one of them."
    )]
    TwoImages {
        version: String,
        machine: String,
        first: String,
        second: String,
    },
    /// The Machine's version cannot be read.
    #[error(
        "the Machine's version {version:?} does not have the form vMAJOR.MINOR.PATCH: {}. Correct it.",
        bare(wrong)
    )]
    BadVersion {
        version: String,
        /// The part of it that is wrong.
        wrong: String,
    },
    /// A field that names an image cannot be read.
    #[error(
        "{field} is {value:?}, which is not valid: {}. Use {accepted}.",
        bare(wrong)
    )]
    BadImage {
        field: String,
        value: String,
        accepted: String,
        /// The part of the value that is wrong.
        wrong: String,
    },
    /// The workload cluster is not visible.
    #[error(
        "the API server of cluster {cluster} is away: {}. Check that server; nothing is judged or written until it is back.",
        bare(detail)
    )]
    ApiAway { cluster: String, detail: String },
    /// The workload cluster's only API server is on the node that is being upgraded.
    #[error(
        "the API server of cluster {cluster} is away, because its only control-plane node, {node}, is being upgraded: {}. No action is needed, unless the node does not come back.",
        bare(detail)
    )]
    OnlyApiAway {
        cluster: String,
        node: String,
        detail: String,
    },
    /// The control plane's version is not known.
    #[error(
        "the version of cluster {cluster}'s control plane is not known yet. No action is needed."
    )]
    ControlPlaneUnknown { cluster: String },
    /// The Machine has no Node yet.
    #[error("the Machine has no Node yet. No action is needed, unless the Node never joins.")]
    NoNode,
    /// The Machine's Node is gone.
    #[error(
        "Node {node} does not exist in cluster {cluster}. Check why it was deleted, or delete its Machine."
    )]
    NodeMissing { node: String, cluster: String },
    /// The Node belongs to another machine.
    #[error(
        "Node {node} has provider id {found:?}, but the Machine has {wanted:?}. Correct the wrong one; until then the node is not upgraded."
    )]
    NodeMismatch {
        node: String,
        found: String,
        wanted: String,
    },
    /// The control plane must be upgraded before its workers.
    #[error(
        "{wanted} is newer than the control plane's {control_plane}. Upgrade the control plane first; this Machine then continues."
    )]
    AheadOfControlPlane {
        wanted: Version,
        control_plane: Box<Server>,
    },
    /// The upgrade spans too many minor versions.
    #[error(
        "{from} to {wanted} spans too many minor versions (allowed: {allowed}). Upgrade in steps."
    )]
    StepTooLarge {
        from: Version,
        wanted: Version,
        allowed: u32,
    },
    /// Kubelets would be too old for the control plane.
    #[error(
        "{wanted} would leave the kubelet of Node {} at {}, more than {allowed} minor versions older than the control plane. Upgrade such nodes first, or continue without this one: annotate Machine {} with careen.dev/leave-out: <why>.",
        oldest.node, oldest.version, oldest.machine
    )]
    WorkersBehind {
        wanted: Version,
        oldest: Box<Kubelet>,
        allowed: u32,
    },
    /// Other Machines of the group go first.
    #[error(
        "waiting for its turn: {allowed} of {group} may be upgraded at once. No action is needed."
    )]
    NotItsTurn { group: String, allowed: usize },
    /// The upgrade of another member of the control plane has halted.
    #[error(
        "{group} has an unhealthy member: the upgrade of Node {node} has halted, and no other member is upgraded until that one is repaired. Do not remove a member of etcd. Fix what kubectl careen explain {node} shows, then annotate Machine {machine} with careen.dev/retry."
    )]
    ControlPlaneHurt {
        group: String,
        machine: String,
        node: String,
    },
    /// One of the Machines that go first does not finish.
    #[error(
        "waiting for its turn in {group}: Node {node} does not finish its upgrade. Check that node, or continue without it: annotate Machine {machine} with careen.dev/leave-out: <why>."
    )]
    TurnKept {
        group: String,
        machine: String,
        node: String,
    },
    /// A person left the Machine out.
    #[error(
        "the Machine is annotated careen.dev/leave-out, so its node gets no new request. Remove the annotation to upgrade it."
    )]
    LeftOut,
    /// Other Machines of the group failed.
    #[error(
        "{failed} of {group} failed, Machine {machine} among them, and {allowed} may be away at once. Change their image, retry them (careen.dev/retry), withdraw their upgrade, or continue without them (careen.dev/leave-out)."
    )]
    OthersFailed {
        group: String,
        failed: usize,
        machine: String,
        allowed: usize,
    },
    /// The node works on another request.
    #[error("Node {node} works on another request ({id}) first. No action is needed.")]
    OtherRequest { node: String, id: String },
    /// The node is paused.
    #[error(
        "Node {node} is paused: {}. End the pause to continue (kubectl careen resume).",
        bare(reason)
    )]
    NodePaused { node: String, reason: String },
    /// No agent accepts the request.
    #[error(
        "Node {node} has not accepted the request for {seconds} s. Check that careen-agent runs there."
    )]
    NoAnswer { node: String, seconds: i64 },
    /// The upgrade does not finish.
    #[error(
        "Node {node} is still at {phase} after {seconds} s. Check its condition CareenUpgrading and the agent's journal."
    )]
    Stalled {
        node: String,
        phase: String,
        seconds: i64,
    },
    /// The node works on a request that careen-provider did not make, and does not finish.
    #[error(
        "Node {node} has worked for more than {seconds} s on a request that careen-provider did not make. Check that node; other Machines no longer wait for it."
    )]
    StalledElsewhere { node: String, seconds: i64 },
    /// The agent does not support the protocol of this request.
    #[error(
        "the agent on Node {node} is too old or too new, because it answers without naming the request: {}. Update careen-agent there.",
        bare(detail)
    )]
    AgentUnfit { node: String, detail: String },
    /// The agent reports success, and the cluster does not confirm it.
    #[error("the agent says Upgraded; waiting until {detail}. No action is needed.")]
    Unverified { detail: String },
    /// The API server rejects the write.
    #[error(
        "could not update the object: {}. Fix the cause; the write is retried.",
        bare(detail)
    )]
    Unwritten { detail: String },
    /// The node refused the request or failed.
    #[error("{reason}")]
    Node { code: String, reason: String },
    /// The Machine is being deleted.
    #[error("the Machine is being deleted. No action is needed.")]
    Deleted,
    /// An owner is paused.
    #[error("{what} is paused. End its pause to continue.")]
    Paused { what: String },
    /// The annotation was removed, or core stopped.
    #[error("the upgrade is no longer requested. No action is needed.")]
    Withdrawn,
    /// The InfraMachine's kind has no version field in its status.
    #[error(
        "{kind} has no field status.version, which the annotation flow needs. Use a kind that has it."
    )]
    NoVersionField { kind: String },
}

impl Why {
    /// Another member of this control plane is unhealthy.
    #[must_use]
    pub fn hurt(group: String, Other { machine, node }: Other) -> Self {
        Self::ControlPlaneHurt {
            group,
            machine,
            node,
        }
    }

    /// The stable CamelCase reason of a condition.
    #[must_use]
    pub fn code(&self) -> String {
        if let Self::Node { code, .. } = self {
            return code.clone();
        }
        self.class().to_owned()
    }

    /// Like [`Self::code`], but from a closed list, whatever a node reports. Used as a metric
    /// label.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::NoImage { .. } => "NoImage",
            Self::TwoImages { .. } => "TwoImages",
            Self::BadVersion { .. } => "BadVersion",
            Self::BadImage { .. } => "BadImage",
            Self::ApiAway { .. } | Self::OnlyApiAway { .. } => "ApiAway",
            Self::ControlPlaneUnknown { .. } => "ControlPlaneUnknown",
            Self::NoNode => "NoNode",
            Self::NodeMissing { .. } => "NodeMissing",
            Self::NodeMismatch { .. } => "NodeMismatch",
            Self::AheadOfControlPlane { .. } => "AheadOfControlPlane",
            Self::StepTooLarge { .. } => "StepTooLarge",
            Self::WorkersBehind { .. } => "WorkersBehind",
            Self::NotItsTurn { .. } => "NotItsTurn",
            Self::ControlPlaneHurt { .. } => "ControlPlaneHurt",
            Self::TurnKept { .. } => "TurnKept",
            Self::LeftOut => "LeftOut",
            Self::OthersFailed { .. } => "OthersFailed",
            Self::OtherRequest { .. } => "OtherRequest",
            Self::NodePaused { .. } => "NodePaused",
            Self::NoAnswer { .. } => "NoAnswer",
            Self::Stalled { .. } | Self::StalledElsewhere { .. } => "Stalled",
            Self::AgentUnfit { .. } => "AgentUnfit",
            Self::Unverified { .. } => "Unverified",
            Self::Unwritten { .. } => "Unwritten",
            Self::Node { .. } => "Node",
            Self::Deleted => "Deleted",
            Self::Paused { .. } => "Paused",
            Self::Withdrawn => "Withdrawn",
            Self::NoVersionField { .. } => "NoVersionField",
        }
    }

    /// Seconds until Cluster API should ask again; see [`super::Answer::retry_after`].
    #[must_use]
    pub const fn retry_after(&self) -> u32 {
        match self {
            // These pass soon without intervention.
            Self::Unverified { .. } | Self::NoNode | Self::ControlPlaneUnknown { .. } => 2,
            Self::NotItsTurn { .. }
            | Self::TurnKept { .. }
            | Self::OtherRequest { .. }
            | Self::ApiAway { .. }
            | Self::OnlyApiAway { .. }
            | Self::Unwritten { .. } => 10,
            Self::NoImage { .. }
            | Self::TwoImages { .. }
            | Self::BadVersion { .. }
            | Self::BadImage { .. }
            | Self::NodeMissing { .. }
            | Self::NodeMismatch { .. }
            | Self::AheadOfControlPlane { .. }
            | Self::StepTooLarge { .. }
            | Self::WorkersBehind { .. }
            | Self::ControlPlaneHurt { .. }
            | Self::LeftOut
            | Self::OthersFailed { .. }
            | Self::NodePaused { .. }
            | Self::NoAnswer { .. }
            | Self::Stalled { .. }
            | Self::StalledElsewhere { .. }
            | Self::AgentUnfit { .. }
            | Self::Node { .. }
            | Self::Deleted
            | Self::Paused { .. }
            | Self::Withdrawn
            | Self::NoVersionField { .. } => 15,
        }
    }
}
