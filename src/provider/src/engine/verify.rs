//! Whether "Upgraded" may be believed: the agent's word is taken only together with what the cluster itself shows.

use super::{Facts, NodeFacts, StaticPod, Why};

/// The components whose static pods must be at the version.
const COMPONENTS: [&str; 3] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// All that Cluster API will take for granted once "done" is said.
pub(super) fn verify(facts: &Facts<'_>, node: &NodeFacts, version: &str) -> Result<(), Why> {
    let waiting = |detail: String| Err(Why::Unverified { detail });
    // Core compares the strings too (v1.14), so a suffix that we let pass would leave the Machine out of date for ever.
    if node.kubelet != version {
        return waiting(format!(
            "the kubelet says {version}; it says {}",
            super::clean(&node.kubelet)
        ));
    }
    if !node.ready {
        return waiting(format!("Node {} is Ready", node.name));
    }
    if node.cordoned {
        return waiting(format!("Node {} is uncordoned", node.name));
    }
    if facts.machine.control_plane || node.control_plane {
        return pods(&facts.control_plane.pods, version).or_else(waiting);
    }
    Ok(())
}

fn pods(seen: &[StaticPod], version: &str) -> Result<(), String> {
    for component in COMPONENTS {
        let Some(pod) = seen.iter().find(|pod| pod.component == component) else {
            return Err(format!("static pod {component} is there"));
        };
        // A pod whose image has no tag (pinned by digest) cannot say its version; the agent has judged it on the node.
        let other = pod.version.as_deref().filter(|tag| *tag != version);
        if let Some(other) = other {
            return Err(format!(
                "static pod {component} is at {version}; it is at {}",
                super::clean(other)
            ));
        }
        if !pod.ready {
            return Err(format!("static pod {component} is Ready"));
        }
    }
    Ok(())
}
