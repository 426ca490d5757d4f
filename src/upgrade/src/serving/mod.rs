//! How a node serves: what it offers to its pods, and which of the pods that belong to it run.
//!
//! The agent notes this before the drain. In the trial it looks again, and [`lacks`] compares.
//! `Ready` alone does not show that a pod can start: the kubelet reports Ready when the runtime
//! answers and a network configuration is on the disk.

mod compare;
mod quantity;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use compare::{Lack, lacks};
pub use units::{Down, Units, failed};

/// How a node serves, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// What the API server has of this node. `None` if the agent has not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Offer>,
    /// What systemd says of its units. `None` if the agent has not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<Units>,
    /// A pod sandbox got an address. Some network plugins ask the API server for the pod, and
    /// give none to a sandbox without one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pod_network: bool,
    /// The runtime of the old system started no pod sandbox. Then the new one need not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_sandbox: bool,
}

impl Serving {
    /// Whether nothing is known.
    #[must_use]
    pub const fn is_blank(&self) -> bool {
        self.node.is_none() && self.units.is_none() && !self.pod_network && !self.no_sandbox
    }
}

/// What the Node offers, and the pods that belong to the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offer {
    /// The status of each condition of the Node, except `Ready` and Careen's own.
    pub conditions: BTreeMap<String, String>,
    /// The Node's addresses, as type and address.
    pub addresses: Vec<(String, String)>,
    /// The allocatable resources, as Kubernetes quantities.
    pub resources: BTreeMap<String, String>,
    /// The keys of the taints that keep pods off, except those that Kubernetes itself or Careen
    /// sets. `None` in a note of an older agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<BTreeSet<String>>,
    /// The CSI drivers of the node's `CSINode`. `None` if the server does not tell them to this
    /// node, and in a note of an older agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drivers: Option<BTreeSet<String>>,
    /// The pods that stay on the node through a drain. Before the drain only those that were Ready.
    pub pods: Vec<NodePod>,
}

/// A pod that belongs to the node: of a DaemonSet, or static.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodePod {
    /// What it belongs to.
    pub owner: Owner,
    /// Its UID.
    pub uid: String,
    /// Which version of its template it has: the controller's revision, or the hash of the static
    /// pod's file.
    pub revision: String,
    /// The running containers. No container survives a reboot, so the same containers show that
    /// the kubelet has not reported the pod since.
    pub containers: String,
    /// Why it is not Ready; `None` if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unready: Option<Unready>,
}

/// What a pod of the node belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// The controller's kind; empty for a static pod.
    pub kind: String,
    /// The namespace.
    pub namespace: String,
    /// The controller's name, or the static pod's.
    pub name: String,
}

/// Why a pod is not Ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unready {
    /// What the kubelet says.
    pub why: String,
    /// A registry does not deliver the image of a container, or the cluster lacks what it needs.
    pub pulls: bool,
    /// The runtime cannot start a container.
    pub broken: bool,
}

impl Owner {
    /// Whether it is a static pod, which the kubelet reads from a file on the node.
    #[must_use]
    pub const fn is_static(&self) -> bool {
        self.kind.is_empty()
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_static() {
            "static"
        } else {
            &self.kind
        };
        write!(f, "{kind} pod {}/{}", self.namespace, self.name)
    }
}
