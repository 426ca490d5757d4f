//! Verifies "Upgraded": the agent's answer counts only together with what the cluster itself shows.

use upgrade::sanitize;

use crate::node::NodeFacts;

/// The components whose static pods must have the version.
const COMPONENTS: [&str; 3] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// The component of etcd's static pod.
const ETCD: &str = "etcd";

/// A static pod of a control plane node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticPod {
    /// For example `kube-apiserver`.
    pub component: String,
    /// The tag of its image, if it has one.
    pub version: Option<String>,
    /// The pod is Ready.
    pub ready: bool,
}

impl StaticPod {
    /// The pod serves the API.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.component == "kube-apiserver"
    }
}

/// Whether the Node shows that it is upgraded to this version. `pods` are the static pods of a
/// control plane node.
///
/// # Errors
/// The condition that does not hold yet.
pub fn verify(node: &NodeFacts, version: &str, pods: Option<&[StaticPod]>) -> Result<(), String> {
    // Core compares the strings too (v1.14). If this check accepted a suffix, the Machine would
    // stay out of date for ever.
    if node.kubelet != version {
        let found = sanitize::line(&node.kubelet);
        return Err(format!("the kubelet says {version}; it says {found}"));
    }
    if !node.ready {
        return Err(format!("Node {} is Ready", node.name));
    }
    if node.cordoned {
        return Err(format!("Node {} is uncordoned", node.name));
    }
    if node.reply.holds_the_lock() {
        return Err(format!(
            "Node {} releases the lock of the control plane",
            node.name
        ));
    }
    pods.map_or(Ok(()), |pods| are_at(pods, version))
}

fn are_at(seen: &[StaticPod], version: &str) -> Result<(), String> {
    for component in COMPONENTS {
        let Some(pod) = seen.iter().find(|pod| pod.component == component) else {
            return Err(format!("static pod {component} exists"));
        };
        // A pod whose image has no tag (pinned by digest) does not show its version. The agent has
        // verified it on the node.
        let other = pod.version.as_deref().filter(|tag| *tag != version);
        if let Some(other) = other {
            return Err(format!(
                "static pod {component} is at {version}; it is at {}",
                sanitize::line(other)
            ));
        }
        if !pod.ready {
            return Err(format!("static pod {component} is Ready"));
        }
    }
    etcd_is_ready(seen)
}

/// etcd has versions of its own. Where it is external, it has no pod.
fn etcd_is_ready(seen: &[StaticPod]) -> Result<(), String> {
    let etcd = seen.iter().find(|pod| pod.component == ETCD);
    match etcd.is_none_or(|pod| pod.ready) {
        true => Ok(()),
        false => Err(format!("static pod {ETCD} is Ready")),
    }
}
