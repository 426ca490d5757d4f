//! What a Node offers, and the pods that belong to it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

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
    /// The handlers of the container runtime that a RuntimeClass can name, as the kubelet reports
    /// them. `None` if the runtime does not tell them, and in a note of an older agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handlers: Option<BTreeSet<String>>,
    /// What the runtime and the kernel can do for a pod: `runc/userNamespaces` of a handler,
    /// `userNamespaces` of the default one, and what the kubelet reports of the node. `None` if the
    /// kubelet tells none, and in a note of an older agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<BTreeSet<String>>,
    /// The drivers of dynamic resource allocation that offer a device in a `ResourceSlice` of this
    /// node. `None` if the server does not have or tell them, and in a note of an older agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<BTreeSet<String>>,
    /// The keys of the Node's labels that pods may be placed by, without those that Careen sets.
    /// `None` in a note of an older agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeSet<String>>,
    /// The address families of which kube-proxy has written the rules of services since its start.
    /// Empty without a kube-proxy that tells it, and in a note of an older agent.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub services: BTreeSet<String>,
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
    /// The image of each container, as the runtime resolved it. Empty in a note of an older agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, ImageId>,
    /// Why it is not Ready; `None` if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unready: Option<Unready>,
    /// For how many seconds it started, from the boot or its own start to Ready. `None` if it is
    /// not Ready, became so long after, or an older agent wrote the note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_seconds: Option<u64>,
}

/// The beginning of a container image's digest, with `@` before it if a registry gave the digest.
/// Otherwise it is that of the image's configuration, and the two kinds cannot be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImageId(String);

impl ImageId {
    /// How many digits are kept.
    const DIGITS: usize = 12;

    /// Reads `name@sha256:<64 digits>` or `sha256:<64 digits>`, as a container runtime writes it.
    /// `None` for anything else.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let from_registry = if text.contains('@') { "@" } else { "" };
        let digits = text.rsplit_once("sha256:")?.1.get(..Self::DIGITS)?;
        Some(Self(format!("{from_registry}{digits}")))
    }

    /// Whether it is another image than this one, as far as that can be told.
    pub(super) fn differs(&self, other: &Self) -> bool {
        self.0.starts_with('@') == other.0.starts_with('@') && self != other
    }
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
