//! The API servers of a workload cluster: its static pods, and the Nodes that may run one.

use std::collections::HashMap;

use requests::{NodeFacts, StaticPod};

/// Static pods by name, each with its Node's name.
pub(super) type Pods = HashMap<String, (String, StaticPod)>;

/// The version of a Node that may serve the API: kubeadm upgrades the kubelet after the static
/// pods.
pub(super) fn served_by(node: &NodeFacts) -> Option<&str> {
    node.control_plane.then_some(node.kubelet.as_str())
}

/// The API servers among the static pods.
pub(super) fn servers(pods: &Pods) -> HashMap<&str, &StaticPod> {
    let servers = pods.iter().filter(|(_, (_, pod))| pod.serves());
    servers
        .map(|(name, (_, pod))| (name.as_str(), pod))
        .collect()
}
