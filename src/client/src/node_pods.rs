//! Which pods belong to their node: a drain leaves them, because they end and start with the node.
//! The kubelet's credential may not read controllers, so the pod itself must tell.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::objects::{NodeSelectorTerm, PodSpec, Toleration};

/// The kubelet marks its own copies of static pods with this annotation. They cannot be evicted.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// The taint of a cordoned node (k8s.io/api/core/v1/well_known_taints.go).
const CORDONED: &str = "node.kubernetes.io/unschedulable";

/// Whether a pod stays on its node through a drain: a static pod, a pod of a `DaemonSet`, or a pod
/// that any other controller pins to this node and that tolerates the cordon. The controller would
/// replace such a pod at once.
#[must_use]
pub fn belongs_to_node(meta: &ObjectMeta, spec: Option<&PodSpec>) -> bool {
    let mirrors = meta.annotations.as_ref();
    if mirrors.is_some_and(|annotations| annotations.contains_key(MIRROR)) {
        return true;
    }
    controller(meta).is_some_and(is_daemon_set) || is_pinned_here(meta, spec)
}

/// Whether a pod comes back to its cordoned node, or stays there, and no rule of Kubernetes says
/// so: a controller other than a `DaemonSet` owns it, and it tolerates the cordon.
#[must_use]
pub fn may_return(meta: &ObjectMeta, spec: Option<&PodSpec>) -> bool {
    let owners = meta.owner_references.iter().flatten();
    let is_owned = owners.clone().next().is_some();
    let mirrors = meta.annotations.as_ref();
    let is_static = mirrors.is_some_and(|annotations| annotations.contains_key(MIRROR));
    let is_daemon = controller(meta).is_some_and(is_daemon_set);
    is_owned && !is_static && !is_daemon && spec.is_some_and(tolerates_cordon)
}

/// A controller of another kind than `DaemonSet` does what one does.
fn is_pinned_here(meta: &ObjectMeta, spec: Option<&PodSpec>) -> bool {
    let is_daemon = |spec| is_pinned(spec) && tolerates_cordon(spec);
    controller(meta).is_some() && spec.is_some_and(is_daemon)
}

/// The owner that controls the pod.
#[must_use]
pub fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let owners = meta.owner_references.iter().flatten();
    owners
        .into_iter()
        .find(|owner| owner.controller == Some(true))
}

/// Whether the scheduler places the pod on a cordoned node
/// (k8s.io/api/core/v1/toleration.go, `ToleratesTaint`).
#[must_use]
pub fn tolerates_cordon(spec: &PodSpec) -> bool {
    spec.tolerations.iter().any(tolerates)
}

fn tolerates(toleration: &Toleration) -> bool {
    let (key, value) = (toleration.key.as_str(), toleration.value.as_str());
    let effect = matches!(toleration.effect.as_str(), "" | "NoSchedule");
    effect
        && match toleration.operator.as_str() {
            "Exists" => key.is_empty() || key == CORDONED,
            // The cordon's taint has no value.
            "" | "Equal" => key == CORDONED && value.is_empty(),
            _ => false,
        }
}

fn is_daemon_set(owner: &OwnerReference) -> bool {
    owner.kind == "DaemonSet" && owner.api_version.starts_with("apps/")
}

/// A daemon controller requires the node by its name, in every term
/// (kubernetes, pkg/controller/daemon/util, `ReplaceDaemonSetPodNodeNameNodeAffinity`).
fn is_pinned(spec: &PodSpec) -> bool {
    let terms = &spec.affinity.node_affinity.required.node_selector_terms;
    !terms.is_empty() && terms.iter().all(|term| names(term, &spec.node_name))
}

fn names(term: &NodeSelectorTerm, node: &str) -> bool {
    term.match_fields.iter().any(|field| {
        field.key == "metadata.name" && field.operator == "In" && field.values == [node]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pod;
    use serde_json::{Value, json};

    fn tolerating(tolerations: &Value) -> Value {
        json!({ "nodeName": "n", "tolerations": tolerations })
    }

    fn is_tolerant(toleration: Value) -> bool {
        let spec = tolerating(&json!([toleration]));
        tolerates_cordon(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn tolerations_of_the_cordon_are_read_as_the_scheduler_does() {
        for tolerant in [
            json!({ "operator": "Exists" }),
            json!({ "operator": "Exists", "effect": "NoSchedule" }),
            json!({ "operator": "Exists", "key": CORDONED }),
            json!({ "key": CORDONED, "effect": "NoSchedule" }),
            json!({ "operator": "Equal", "key": CORDONED }),
        ] {
            assert!(is_tolerant(tolerant.clone()), "{tolerant}");
        }
        for strict in [
            json!({ "operator": "Exists", "effect": "NoExecute" }),
            json!({ "operator": "Exists", "key": "node.kubernetes.io/not-ready" }),
            json!({ "operator": "Equal", "key": CORDONED, "value": "x" }),
            json!({ "operator": "Lt", "key": CORDONED, "value": "5" }),
            json!({}),
        ] {
            assert!(!is_tolerant(strict.clone()), "{strict}");
        }
    }

    fn pinned_to(terms: &Value) -> Value {
        let mut spec = tolerating(&json!([{ "operator": "Exists" }]));
        let required = json!({ "nodeSelectorTerms": terms });
        spec["affinity"] = json!({
            "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required },
        });
        spec
    }

    fn by_name(node: &str) -> Value {
        let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
        json!({ "matchFields": [field] })
    }

    fn belongs(api: &str, kind: &str, controls: bool, spec: &Value) -> bool {
        let owner = json!({
            "apiVersion": api, "kind": kind, "name": "o", "uid": "u", "controller": controls,
        });
        let meta = json!({ "name": "p", "ownerReferences": [owner] });
        let pod = json!({ "metadata": meta, "spec": spec });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        belongs_to_node(&pod.metadata, pod.spec.as_ref())
    }

    #[test]
    fn pods_that_any_controller_pins_to_the_node_belong_to_it() {
        let pinned = pinned_to(&json!([by_name("n")]));
        assert!(belongs("x.example/v1", "Fleet", true, &pinned));
        assert!(belongs("apps/v1", "DaemonSet", true, &json!({})));
        assert!(!belongs("x.example/v1", "Fleet", false, &pinned), "bare");
        assert!(!belongs("apps/v1", "DaemonSet", false, &json!({})), "bare");
        let mut strict = pinned;
        strict["tolerations"] = json!([]);
        assert!(!belongs("x.example/v1", "Fleet", true, &strict));
    }

    #[test]
    fn owned_pod_that_tolerates_the_cordon_may_return() {
        let returns = |meta: &Value, spec: &Value| {
            let pod = json!({ "metadata": meta, "spec": spec });
            let pod: Pod = serde_json::from_value(pod).unwrap();
            may_return(&pod.metadata, pod.spec.as_ref())
        };
        let owned = |kind: &str, controls: bool| {
            let owner = json!({
                "apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u",
                "controller": controls,
            });
            json!({ "name": "p", "ownerReferences": [owner] })
        };
        let tolerant = tolerating(&json!([{ "operator": "Exists" }]));
        let pinned = pinned_to(&json!([by_name("n")]));
        assert!(returns(&owned("ReplicaSet", true), &tolerant));
        assert!(returns(&owned("Fleet", true), &pinned));
        assert!(returns(&owned("DaemonSet", false), &tolerant), "adopted");
        assert!(!returns(&owned("DaemonSet", true), &tolerant));
        assert!(!returns(&json!({ "name": "bare" }), &tolerant));
        assert!(!returns(
            &owned("ReplicaSet", true),
            &tolerating(&json!([]))
        ));
        let mut mirror = owned("Node", true);
        mirror["annotations"] = json!({ MIRROR: "hash" });
        assert!(!returns(&mirror, &tolerant));
    }

    #[test]
    fn pods_that_may_run_elsewhere_do_not_belong_to_the_node() {
        let label = json!({
            "matchExpressions": [{ "key": "disk", "operator": "In", "values": ["n"] }],
        });
        for terms in [
            json!([]),
            json!([by_name("other")]),
            json!([by_name("n"), by_name("other")]),
            json!([label]),
        ] {
            let spec = pinned_to(&terms);
            assert!(!belongs("x.example/v1", "Fleet", true, &spec), "{terms}");
        }
        let tolerant = tolerating(&json!([{ "operator": "Exists" }]));
        assert!(!belongs("apps/v1", "ReplicaSet", true, &tolerant));
    }
}
