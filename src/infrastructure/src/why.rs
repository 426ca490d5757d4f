//! Why a machine is not running yet, or not gone yet. Each reason has a type, a class and one text.

use thiserror::Error;

use crate::unfit::Refused;

/// How a reason ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Nothing is wrong.
    Fine,
    /// It ends by itself, through an event.
    Wait,
    /// It is tried again after a pause.
    Retry,
    /// The host is given back, and another one is chosen.
    NextHost,
    /// The Machine should be replaced. Its data were used.
    Replace,
    /// A person must act.
    Person,
}

impl Class {
    /// A stable word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Wait => "wait",
            Self::Retry => "retry",
            Self::NextHost => "next_host",
            Self::Replace => "replace",
            Self::Person => "person",
        }
    }
}

/// What a machine waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
// The message names each field.
#[allow(missing_docs)]
pub enum Why {
    /// It is provisioned.
    #[error("the host is a node of the cluster. No action is needed.")]
    Running,
    /// A write of this pass moves it on.
    #[error("careen-provider is about to write the next step. No action is needed.")]
    Moving,
    /// It has no Machine.
    #[error(
        "no Machine owns this CareenMachine yet. No action is needed, unless nothing creates one."
    )]
    NoOwner,
    /// It or its Cluster is paused.
    #[error("{what} is paused. Remove the pause to continue.")]
    Paused { what: String },
    /// The Cluster is gone, or not there yet.
    #[error(
        "the Cluster does not exist. Check the label cluster.x-k8s.io/cluster-name, or delete the Machine."
    )]
    NoCluster,
    /// The Cluster's infrastructure is not ready.
    #[error(
        "the infrastructure of the Cluster is not provisioned yet. No action is needed, unless it never is."
    )]
    InfrastructureNotReady,
    /// There are no bootstrap data.
    #[error(
        "the Machine has no bootstrap data yet. No action is needed, unless its bootstrap provider reports an error."
    )]
    NoData,
    /// The bootstrap data cannot be used.
    #[error("cannot use the bootstrap data: {detail}. Correct the bootstrap configuration.")]
    BadData { detail: String },
    /// No host fits.
    #[error("no host fits: {refused}. Add a host, or change what the Machine asks for.")]
    NoHost { refused: Refused },
    /// The hosts that are silent may be the reason.
    #[error(
        "the image {image} failed on {hosts} hosts. Use another image, or wait for an hour to try it again."
    )]
    ImageFailing { image: String, hosts: usize },
    /// The host has not taken up the claim.
    #[error(
        "host {host} does not know of the claim yet. No action is needed, unless the host is off."
    )]
    Unobserved { host: String },
    /// The host is being brought to the image.
    #[error("host {host} is changing to the image {image}. No action is needed.")]
    Imaging { host: String, image: String },
    /// The host joins.
    #[error("host {host} is joining the cluster. No action is needed.")]
    Joining { host: String },
    /// The host failed before it had any data.
    #[error("host {host} cannot be used: {reason}. Look at the host; another one is chosen.")]
    HostFailed { host: String, reason: String },
    /// The host failed after it had the data.
    #[error(
        "host {host} did not join: {reason}. Delete the Machine; a MachineHealthCheck does that by itself."
    )]
    JoinFailed { host: String, reason: String },
    /// The host did not join in time.
    #[error(
        "host {host} did not join within {seconds} s. Look at the host; delete the Machine if a MachineHealthCheck does not."
    )]
    JoinLate { host: String, seconds: i64 },
    /// A Node has the name of the host and another provider id.
    #[error(
        "Node {node} has the provider id {found:?} of another machine. Delete that Node if its machine is gone, then delete this Machine."
    )]
    NodeNameTaken { node: String, found: String },
    /// The claim on the host is another's.
    #[error(
        "host {host} has the claim {found} of another machine. Look at both; if this machine has no node any more, annotate CareenHost {host} with careen.dev/force-release: {claim} and delete this Machine."
    )]
    HostTaken {
        host: String,
        claim: String,
        found: String,
    },
    /// Somebody released the host of a running machine.
    #[error("host {host} was released. Delete the Machine.")]
    HostReleased { host: String },
    /// The CareenHost is gone.
    #[error("host {host} does not exist. Delete the Machine.")]
    HostGone { host: String },
    /// The host fences and has not said so yet.
    #[error("host {host} is stopping its kubelet. No action is needed.")]
    Fencing { host: String },
    /// The host is silent, and too short.
    #[error(
        "host {host} has not reported for {silent} s. Wait until {needed} s are over, or annotate CareenHost {host} with careen.dev/force-release: {claim} if it is off."
    )]
    Silent {
        host: String,
        claim: String,
        silent: i64,
        needed: i64,
    },
    /// The Node is Ready, so the host runs.
    #[error(
        "host {host} does not report, but its Node is Ready. Check the network between the host and the management cluster."
    )]
    LinkDown { host: String },
    /// The Node is not Ready, and too short.
    #[error(
        "host {host} does not report, and its Node has not been Ready for {seconds} s. Wait until {needed} s are over."
    )]
    NodeNotReady {
        host: String,
        seconds: i64,
        needed: i64,
    },
    /// The workload cluster is not visible.
    #[error(
        "the API server of the cluster is away: {detail}. Check that server; no host is given up until it is back."
    )]
    ClusterAway { detail: String },
    /// Too many hosts are silent at once.
    #[error(
        "{silent} of {of} hosts of {place} are silent at once. Check the network; annotate the CareenCluster with careen.dev/brake-off: \"true\" if they are off."
    )]
    Braked {
        silent: usize,
        of: usize,
        place: String,
    },
    /// The machine is given back.
    #[error("the host is given back. No action is needed.")]
    Released,
}

life::codes! { Why::code:
    Running Moving NoOwner Paused NoCluster InfrastructureNotReady NoData BadData NoHost
    ImageFailing Unobserved Imaging Joining HostFailed JoinFailed JoinLate NodeNameTaken
    HostTaken HostReleased HostGone Fencing Silent LinkDown NodeNotReady ClusterAway Braked
    Released
}

impl Why {
    /// How it ends.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Running | Self::Moving | Self::Released => Class::Fine,
            Self::NoOwner
            | Self::Paused { .. }
            | Self::NoCluster
            | Self::InfrastructureNotReady
            | Self::NoData
            | Self::NoHost { .. }
            | Self::ImageFailing { .. }
            | Self::Unobserved { .. }
            | Self::Imaging { .. }
            | Self::Joining { .. }
            | Self::Fencing { .. }
            | Self::Silent { .. }
            | Self::NodeNotReady { .. } => Class::Wait,
            Self::ClusterAway { .. } => Class::Retry,
            Self::HostFailed { .. } => Class::NextHost,
            Self::JoinFailed { .. }
            | Self::JoinLate { .. }
            | Self::NodeNameTaken { .. }
            | Self::HostReleased { .. }
            | Self::HostGone { .. } => Class::Replace,
            Self::BadData { .. }
            | Self::HostTaken { .. }
            | Self::LinkDown { .. }
            | Self::Braked { .. } => Class::Person,
        }
    }
}
