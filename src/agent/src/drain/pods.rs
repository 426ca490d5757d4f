//! Selects the pods to drain: pure functions over a list of pods.

use client::Pod;
use kube::ResourceExt;

/// The kubelet marks its own copies of static pods with this annotation. They cannot be evicted.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// One pod that must go. The UID distinguishes it from a successor with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Victim {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its priority.
    pub priority: i32,
}

impl std::fmt::Display for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The pods of a list that must go.
#[must_use]
pub fn victims(pods: &[Pod]) -> Vec<Victim> {
    pods.iter().filter(|pod| must_go(pod)).map(victim).collect()
}

fn victim(pod: &Pod) -> Victim {
    Victim {
        namespace: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        priority: pod.spec.as_ref().map_or(0, |spec| spec.priority),
    }
}

/// The owner identifies pods of a DaemonSet (the kubelet's credential may not read DaemonSets), and
/// they would return at once. Static pods belong to the node. A finished pod keeps nothing running.
fn must_go(pod: &Pod) -> bool {
    let daemon = pod.owner_references().iter().any(|owner| {
        owner.kind == "DaemonSet"
            && owner.api_version.starts_with("apps/")
            && owner.controller == Some(true)
    });
    let mirror = pod.annotations().contains_key(MIRROR);
    let phase = pod
        .status
        .as_ref()
        .map_or("", |status| status.phase.as_str());
    !daemon && !mirror && !matches!(phase, "Succeeded" | "Failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(change: &Value) -> Pod {
        let mut pod = json!({
            "metadata": { "namespace": "shop", "name": "web", "uid": "1" },
            "status": { "phase": "Running" },
        });
        merge(&mut pod, change);
        serde_json::from_value(pod).unwrap()
    }

    fn merge(into: &mut Value, from: &Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (key, value) in from {
                    merge(into.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from.clone(),
        }
    }

    fn owned_by(kind: &str, controller: bool) -> Value {
        json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "2", "controller": controller,
        }] } })
    }

    #[test]
    fn a_running_pod_must_go_whoever_owns_it() {
        assert_eq!(victims(&[pod(&json!({}))]).len(), 1, "a bare pod");
        assert_eq!(victims(&[pod(&owned_by("ReplicaSet", true))]).len(), 1);
        assert_eq!(
            victims(&[pod(&json!({ "status": { "phase": "Pending" } }))]).len(),
            1
        );
    }

    #[test]
    fn daemon_static_and_finished_pods_stay() {
        let mirror = json!({ "metadata": { "annotations": { MIRROR: "hash" } } });
        let done = |phase: &str| json!({ "status": { "phase": phase } });
        for change in [
            owned_by("DaemonSet", true),
            mirror,
            done("Succeeded"),
            done("Failed"),
        ] {
            assert_eq!(victims(&[pod(&change)]), [], "{change}");
        }
    }

    #[test]
    fn a_daemonset_that_merely_owns_a_pod_does_not_keep_it() {
        assert_eq!(victims(&[pod(&owned_by("DaemonSet", false))]).len(), 1);
    }
}
