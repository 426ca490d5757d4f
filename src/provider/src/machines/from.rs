//! Cluster API's objects as facts.

use std::collections::BTreeMap;

use upgrade::{Keys, Pause};

use super::key::Key;
use super::near;
use super::owners::{ClusterFacts, ControlPlaneFacts, DeploymentFacts};
use crate::api;
use crate::engine::{Machine, Mark};
use crate::names;

pub fn machine(object: api::Machine) -> Machine {
    let meta = object.metadata;
    let annotations = meta.annotations.unwrap_or_default();
    let labels = meta.labels.unwrap_or_default();
    let infra = object.spec.infrastructure_ref;
    let status = object.status.unwrap_or_default();
    Machine {
        namespace: meta.namespace.unwrap_or_default(),
        name: meta.name.unwrap_or_default(),
        uid: meta.uid.unwrap_or_default(),
        resource_version: meta.resource_version.unwrap_or_default(),
        cluster: object.spec.cluster_name,
        version: asked_version(&annotations)
            .or(object.spec.version)
            .filter(|version| !version.is_empty()),
        provider_id: object.spec.provider_id.filter(|id| !id.is_empty()),
        node: status
            .node_ref
            .map(|node| node.name)
            .filter(|name| !name.is_empty()),
        deleting: meta.deletion_timestamp.is_some(),
        paused: annotations.contains_key(names::PAUSED),
        looks_paused: looks_paused(&annotations, &labels),
        control_plane: labels.contains_key(names::CONTROL_PLANE_LABEL),
        deployment: labels.get(names::DEPLOYMENT_LABEL).cloned(),
        in_progress: annotations.contains_key(names::UPDATE_IN_PROGRESS),
        hook_pending: annotations
            .get(names::PENDING_HOOKS)
            .is_some_and(|hooks| is_ours(hooks)),
        asked: annotations.contains_key(names::ASK),
        left_out: annotations.contains_key(names::LEAVE_OUT),
        retry: annotations.get(names::RETRY).cloned(),
        mark: annotations.get(names::MARK).map(|text| mark(text)),
        skips_remediation: annotations.contains_key(names::SKIP_REMEDIATION),
        labels,
        infra: (!infra.kind.is_empty()).then_some((infra.api_group, infra.kind, infra.name)),
    }
}

/// The version that the pool of a Machine asks for.
fn asked_version(annotations: &BTreeMap<String, String>) -> Option<String> {
    let asked = annotations.contains_key(names::ASK);
    let version = annotations.get(names::POOL_VERSION);
    version.filter(|_| asked).cloned()
}

/// Whether a list of hooks contains the provider's.
fn is_ours(hooks: &str) -> bool {
    hooks
        .split(',')
        .any(|hook| hook.trim() == names::UPDATE_MACHINE)
}

/// A damaged mark is still a mark: it must be removed. The skip-remediation annotation then counts
/// as the provider's, because nobody else writes the two together.
fn mark(text: &str) -> Mark {
    serde_json::from_str(text).unwrap_or_else(|_| Mark {
        skip_is_ours: true,
        ..Mark::default()
    })
}

/// The keys that have a meaning on these objects.
const KNOWN: [&str; 10] = [
    names::PAUSED,
    names::RETRY,
    names::LEAVE_OUT,
    names::NEVER_REPLACE,
    names::MARK,
    names::SKIP_REMEDIATION,
    names::UPDATE_IN_PROGRESS,
    names::PENDING_HOOKS,
    names::ASK,
    names::POOL_VERSION,
];

/// The longest part of a value that is repeated, in characters.
const SHOWN: usize = 64;

/// A key that looks like a pause or an opt-out, in words. A person who sets the Node's own key on
/// the Machine, a label, or a misspelt key means the same.
pub fn looks_paused(
    annotations: &BTreeMap<String, String>,
    labels: &BTreeMap<String, String>,
) -> Option<String> {
    let (mut others, mut labels) = (annotations.clone(), labels.clone());
    others.retain(|key, _| !KNOWN.contains(&key.as_str()) && !near::is_own(key));
    labels.retain(|key, _| !near::is_own(key));
    let keys = Keys::read(&others, &labels);
    let annotation = |key: &str, value: String| {
        let start: String = value.chars().take(SHOWN).collect();
        format!("annotation {key} ({start:?})")
    };
    let paused = keys.pause.map(|pause| match pause {
        Pause::Asked(why) => annotation(upgrade::names::PAUSED, why),
        Pause::Leaves(leaving) => leaving.to_string(),
        Pause::Looks(stray) => stray.to_string(),
    });
    let opted_out = || annotation(upgrade::names::OPT_OUT, keys.opted_out.unwrap_or_default());
    let has_opt_out = others.contains_key(upgrade::names::OPT_OUT);
    paused.or_else(|| has_opt_out.then(opted_out))
}

pub fn cluster(object: api::Cluster) -> (Key, ClusterFacts) {
    let annotations = object.metadata.annotations.unwrap_or_default();
    let labels = object.metadata.labels.unwrap_or_default();
    let facts = ClusterFacts {
        paused: object.spec.paused || annotations.contains_key(names::PAUSED),
        looks_paused: looks_paused(&annotations, &labels),
        never_replace: annotations.get(names::NEVER_REPLACE).cloned(),
        control_plane: object.spec.control_plane_ref.name,
    };
    let name = object.metadata.name.unwrap_or_default();
    (
        Key::new(object.metadata.namespace.unwrap_or_default(), name),
        facts,
    )
}

pub fn control_plane(object: api::ControlPlane) -> (Key, ControlPlaneFacts) {
    let annotations = object.metadata.annotations.unwrap_or_default();
    let labels = object.metadata.labels.unwrap_or_default();
    let facts = ControlPlaneFacts {
        asks: asks(object.spec.machine_template.as_ref()),
        paused: annotations.contains_key(names::PAUSED),
        looks_paused: looks_paused(&annotations, &labels),
        never_replace: annotations.get(names::NEVER_REPLACE).cloned(),
    };
    let name = object.metadata.name.unwrap_or_default();
    (
        Key::new(object.metadata.namespace.unwrap_or_default(), name),
        facts,
    )
}

pub fn deployment(object: api::MachineDeployment) -> (Key, DeploymentFacts) {
    let annotations = object.metadata.annotations.unwrap_or_default();
    let labels = object.metadata.labels.unwrap_or_default();
    let replicas = object.spec.replicas.unwrap_or(1);
    let limit = object.spec.rollout.strategy.rolling_update.max_unavailable;
    let facts = DeploymentFacts {
        uid: object.metadata.uid.unwrap_or_default(),
        cluster: object.spec.cluster_name,
        asks: asks(object.spec.template.as_ref()),
        max_unavailable: limit.map_or(0, |limit| at_most(&limit, replicas)),
        // The spec pauses only its rollout. The annotation is what `clusterctl alpha rollout pause`
        // sets (Cluster API, machinedeployment_controller.go).
        paused: object.spec.paused == Some(true) || annotations.contains_key(names::PAUSED),
        looks_paused: looks_paused(&annotations, &labels),
        never_replace: annotations.get(names::NEVER_REPLACE).cloned(),
    };
    let name = object.metadata.name.unwrap_or_default();
    (
        Key::new(object.metadata.namespace.unwrap_or_default(), name),
        facts,
    )
}

/// Whether the owner puts the requesting annotation on each of its Machines.
fn asks(template: Option<&api::Template>) -> bool {
    template.is_some_and(|template| template.metadata.annotations.contains_key(names::ASK))
}

/// Percentages are rounded down, as Cluster API does for maxUnavailable.
fn at_most(limit: &api::IntOrPercent, replicas: u32) -> usize {
    let number = match limit {
        api::IntOrPercent::Number(number) => u32::try_from((*number).max(0)).unwrap_or(u32::MAX),
        api::IntOrPercent::Percent(text) => {
            let percent: u32 = text.trim_end_matches('%').parse().unwrap_or(0);
            replicas.saturating_mul(percent.min(100)) / 100
        }
    };
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::ObjectList;
    use serde_json::{Value, json};

    fn with(max_unavailable: Value, replicas: Value) -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
            "metadata": { "name": "w", "namespace": "t" },
            "spec": {
                "clusterName": "c", "replicas": replicas,
                "rollout": { "strategy": { "rollingUpdate": { "maxUnavailable": max_unavailable } } },
            },
        })
    }

    /// The maximum of unavailable Machines of each MachineDeployment in a list from the API server.
    fn listed(items: &[Value]) -> Vec<usize> {
        let list = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeploymentList", "metadata": {}, "items": items,
        });
        let list: ObjectList<api::MachineDeployment> = serde_json::from_value(list).unwrap();
        let each = list.items.into_iter().map(deployment);
        each.map(|(_, facts)| facts.max_unavailable).collect()
    }

    #[test]
    fn numbers_and_percentages_of_the_replicas_are_read() {
        let all = [
            with(json!(2), json!(10)),
            with(json!("25%"), json!(10)),
            with(Value::Null, json!(10)),
        ];
        assert_eq!(listed(&all), [2, 2, 0]);
    }

    #[test]
    fn machine_of_a_pool_has_the_version_that_is_asked_for() {
        let version = |annotations: Value| {
            let object = json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                "metadata": { "name": "w-0", "namespace": "t", "annotations": annotations },
                "spec": { "clusterName": "c", "version": "v1.36.3" },
            });
            machine(serde_json::from_value(object).unwrap()).version
        };
        let next = json!({ names::ASK: "", names::POOL_VERSION: "v1.36.4" });
        assert_eq!(version(next).as_deref(), Some("v1.36.4"));
        for other in [
            json!({}),
            json!({ names::ASK: "" }),
            json!({ names::POOL_VERSION: "v1.36.4" }),
        ] {
            assert_eq!(version(other).as_deref(), Some("v1.36.3"));
        }
    }

    #[test]
    fn deployment_is_paused_by_its_spec_or_its_annotation() {
        let paused = |annotations: Value, spec: Value| {
            let object = json!({
                "metadata": { "name": "w", "namespace": "t", "annotations": annotations }, "spec": { "paused": spec },
            });
            deployment(serde_json::from_value(object).unwrap()).1.paused
        };
        assert!(paused(json!({}), json!(true)));
        assert!(paused(json!({ names::PAUSED: "" }), json!(false)));
        for off in [json!(false), Value::Null, json!("many")] {
            assert!(!paused(json!({}), off.clone()), "{off}");
        }
    }

    #[test]
    fn owner_asks_by_the_annotations_of_its_template() {
        let metadata = |on: bool| match on {
            true => json!({ "annotations": { names::ASK: "" }, "labels": { "a": "b" } }),
            false => json!({ "annotations": { "other": "" } }),
        };
        for on in [true, false] {
            let owner = json!({
                "metadata": { "name": "o", "annotations": { names::ASK: "" } },
                "spec": { "machineTemplate": { "metadata": metadata(on), "spec": {} } },
            });
            let (_, facts) = control_plane(serde_json::from_value(owner).unwrap());
            assert_eq!(facts.asks, on);
            let owner = json!({
                "metadata": { "name": "o" }, "spec": { "template": { "metadata": metadata(on) } },
            });
            let (_, facts) = deployment(serde_json::from_value(owner).unwrap());
            assert_eq!(facts.asks, on);
        }
        let odd = json!({ "metadata": {}, "spec": { "machineTemplate": 5, "replicas": 1 } });
        assert!(!control_plane(serde_json::from_value(odd).unwrap()).1.asks);
    }

    #[test]
    fn key_that_looks_like_a_pause_is_told_with_its_place() {
        let pairs = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let none = BTreeMap::new();
        for (key, told) in [
            ("careen.dev/paused", "careen.dev/paused (\"backup\")"),
            ("careen.dev/pause", "careen.dev/pause (\"backup\")"),
            ("careen.io/hold", "careen.io/hold (\"backup\")"),
            (
                "cluster.x-k8s.io/pause",
                "cluster.x-k8s.io/pause (\"backup\")",
            ),
            ("careen.dev/opt-out", "careen.dev/opt-out (\"backup\")"),
        ] {
            let one = pairs(key, "backup");
            let annotation = looks_paused(&one, &none);
            assert_eq!(annotation, Some(format!("annotation {told}")));
            let label = looks_paused(&none, &one);
            assert_eq!(label, Some(format!("label {told}")));
        }
        for key in KNOWN {
            assert_eq!(looks_paused(&pairs(key, "x"), &none), None, "{key}");
        }
        for key in [
            "cluster.x-k8s.io/cluster-name",
            "topology.cluster.x-k8s.io/owned",
            "paused",
            // `UnknownKeys` says that these have no effect.
            "careen.dev/leave_out",
            "careen.dev/leave-out",
        ] {
            assert_eq!(looks_paused(&none, &pairs(key, "")), None, "{key}");
        }
    }

    #[test]
    fn unreadable_deployment_does_not_hide_the_others() {
        for bad in [
            json!(-1),
            json!("-1"),
            json!("many"),
            json!(0.5),
            json!([]),
            json!({}),
        ] {
            let all = [with(bad.clone(), json!(10)), with(json!(3), json!(10))];
            assert_eq!(listed(&all), [0, 3], "{bad}");
        }
        assert_eq!(listed(&[with(json!("50%"), json!(-4))]), [0]);
    }
}
