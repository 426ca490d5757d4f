//! The input of the decision on a machine.

use std::collections::BTreeMap;

use crate::brake::Braked;
use crate::claim::{HostRef, Release};
use crate::host::Host;
use crate::policy::Policy;
use crate::selector::Selector;

/// A CareenMachine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Machine {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// It is deleted.
    pub deleting: bool,
    /// It has our finalizer.
    pub finalizer: bool,
    /// It or its Cluster is paused, and what is.
    pub paused: Option<String>,
    /// The Machine that owns it.
    pub owner: Option<Owner>,
    /// The labels that its host must have.
    pub selector: Selector,
    /// This host or none.
    pub host_name: Option<String>,
    /// What its host must have.
    pub minimum: BTreeMap<String, String>,
    /// What its host does when it is released.
    pub release: Release,
    /// The seconds from the choice of the host to the node.
    pub join_seconds: i64,
    /// Its host.
    pub host: Option<HostRef>,
    /// The provider id, as Cluster API reads it.
    pub provider_id: Option<String>,
    /// It was said to be provisioned.
    pub provisioned: bool,
    /// The hosts that failed it.
    pub tried: Vec<String>,
}

/// The Machine that owns a CareenMachine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The Kubernetes version that it asks for.
    pub version: String,
    /// The failure domain that it asks for.
    pub failure_domain: Option<String>,
    /// The failure domains of its pool, of which any will do. None without a choice.
    pub domains: Vec<String>,
    /// Its bootstrap provider has made the data.
    pub has_data: bool,
    /// It belongs to a control plane.
    pub control_plane: bool,
}

/// The Cluster of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnerCluster {
    /// Its name.
    pub name: String,
    /// Its infrastructure is provisioned.
    pub provisioned: bool,
    /// Its control plane was reached once, so it may have Nodes.
    pub initialized: bool,
    /// A person says that the brake does not hold for it.
    pub brake_off: bool,
}

/// The bootstrap data of the Machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// They were not read, because no decision needs them yet.
    Unread,
    /// The Secret is not there.
    Missing,
    /// They cannot be used, with the reason.
    Bad(String),
    /// Their SHA-256.
    Hash(String),
}

/// What the host's own Secret holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// It was not read, because no decision needs it yet.
    Unread,
    /// No bootstrap data.
    Nothing,
    /// Bootstrap data of this claim, with this hash.
    Data {
        /// The claim.
        claim: String,
        /// The SHA-256 of the data.
        hash: String,
    },
}

/// The Node of a machine, as the workload cluster shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The Cluster is gone, and its API server with it.
    NoCluster,
    /// The workload cluster is not visible, with the reason.
    Away(String),
    /// The workload cluster is visible for so many seconds, and has no such Node.
    Missing {
        /// The seconds.
        visible: i64,
    },
    /// The Node with the provider id of the machine.
    Ready,
    /// The same, and it is seen not Ready for so many seconds.
    NotReady {
        /// The seconds.
        seconds: i64,
    },
    /// A Node of the host's name with another provider id.
    Other {
        /// The Node.
        name: String,
        /// Its provider id.
        provider_id: String,
    },
}

/// All input of one decision on a machine.
pub struct Facts<'a> {
    /// Seconds since 1970.
    pub now: i64,
    /// The machine, read from the API server and not from a cache.
    pub machine: &'a Machine,
    /// Its Cluster.
    pub cluster: Option<&'a OwnerCluster>,
    /// The host that it names, read from the API server.
    pub host: Option<&'a Host>,
    /// All hosts of the namespace, as last seen.
    pub hosts: &'a [&'a Host],
    /// Its Node.
    pub node: &'a Node,
    /// The bootstrap data.
    pub data: &'a Data,
    /// What the Secret of its host holds.
    pub held: &'a Held,
    /// The image for a host of this architecture, or why there is none.
    pub image: &'a dyn Fn(Option<&str>) -> Result<String, String>,
    /// How many hosts failed with an image lately.
    pub failed_with: &'a dyn Fn(&str) -> usize,
    /// For how many seconds careen-provider leads with all lists complete.
    pub leads_for: i64,
    /// Whether too many hosts are silent to give one up.
    pub brake: Option<&'a Braked>,
    /// 16 random hexadecimal digits, which no claim has yet.
    pub new_id: &'a str,
    /// The limits.
    pub policy: &'a Policy,
}
