//! Which pods an upgrade would evict from a node, as far as the client can see. The node's own
//! rehearsal finds what actually blocks a drain.

use std::collections::BTreeMap;

use client::{belongs_to_node, controller};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use serde::Serialize;

use crate::api::{Budget, Pod};

/// A pod that will be evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moving {
    /// Namespace and name, separated by a slash.
    pub pod: String,
    /// The budget that currently forbids the eviction.
    pub held_by: Option<String>,
    /// No controller recreates it elsewhere.
    pub bare: bool,
}

/// The pods that will be evicted, those with remarks first.
#[must_use]
pub fn moving(pods: &[Pod], budgets: &[Budget]) -> Vec<Moving> {
    let mut moving: Vec<Moving> = pods
        .iter()
        .filter(|pod| must_go(pod))
        .map(|pod| Moving {
            pod: full_name(pod),
            held_by: budgets
                .iter()
                .find(|budget| holds(budget, pod))
                .map(full_name),
            bare: controller(&pod.metadata).is_none(),
        })
        .collect();
    moving.sort_by_key(|one| (one.held_by.is_none(), !one.bare, one.pod.clone()));
    moving
}

fn full_name(object: &impl ResourceExt) -> String {
    format!(
        "{}/{}",
        object.namespace().unwrap_or_default(),
        object.name_any()
    )
}

/// The agent's rule: what belongs to the node stays, and finished pods keep nothing running.
fn must_go(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .map_or("", |status| status.phase.as_str());
    !belongs_to_node(&pod.metadata, pod.spec.as_ref()) && !matches!(phase, "Succeeded" | "Failed")
}

fn holds(budget: &Budget, pod: &Pod) -> bool {
    let exhausted = budget
        .status
        .as_ref()
        .is_none_or(|status| status.disruptions_allowed <= 0);
    exhausted && budget.namespace() == pod.namespace() && selects(budget, pod.labels())
}

/// An absent selector selects nothing; an empty one selects the whole namespace.
fn selects(budget: &Budget, labels: &BTreeMap<String, String>) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone());
    let selector = selector.and_then(|selector| Selector::try_from(selector).ok());
    selector.is_some_and(|selector| selector.matches(labels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(name: &str, owner: Option<&str>) -> Pod {
        let owners: Vec<Value> = owner
            .map(|kind| {
                json!({ "apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": true })
            })
            .into_iter()
            .collect();
        let meta = json!({
            "namespace": "shop", "name": name, "labels": { "app": "web" }, "ownerReferences": owners,
        });
        serde_json::from_value(
            json!({ "metadata": meta, "spec": {}, "status": { "phase": "Running" } }),
        )
        .unwrap()
    }

    fn budget(namespace: &str, selector: Value, allowed: i32) -> Budget {
        serde_json::from_value(json!({
            "metadata": { "namespace": namespace, "name": "pdb" },
            "spec": { "selector": selector },
            "status": { "disruptionsAllowed": allowed },
        }))
        .unwrap()
    }

    fn held(selector: Value, allowed: i32) -> Option<String> {
        let moving = moving(
            &[pod("web", Some("ReplicaSet"))],
            &[budget("shop", selector, allowed)],
        );
        moving[0].held_by.clone()
    }

    #[test]
    fn a_budget_holds_the_pods_that_it_selects_while_it_allows_none() {
        let web = json!({ "matchLabels": { "app": "web" } });
        let pdb = Some("shop/pdb".to_owned());
        assert_eq!(held(web.clone(), 0), pdb);
        assert_eq!(held(json!({}), 0), pdb, "an empty selector selects all");
        assert_eq!(held(web, 1), None);
        assert_eq!(held(json!({ "matchLabels": { "app": "db" } }), 0), None);
        assert_eq!(held(Value::Null, 0), None, "no selector selects none");
    }

    #[test]
    fn pods_of_a_daemonset_stay_and_what_is_in_the_way_comes_first() {
        let pods = [
            pod("agent", Some("DaemonSet")),
            pod("a", Some("ReplicaSet")),
            pod("z", None),
        ];
        let names: Vec<String> = moving(&pods, &[]).into_iter().map(|one| one.pod).collect();
        assert_eq!(names, ["shop/z", "shop/a"]);
    }
}
