//! Asks the pods of a node to leave, by the Eviction API alone: it respects each
//! PodDisruptionBudget. Nothing is ever deleted against one.

use client::{Pod, belongs_to_node, pods};
use futures::StreamExt;
use k8s_openapi::api::core::v1;
use kube::api::{Api, DeleteParams, EvictParams, ListParams, Preconditions};
use kube::core::Status;
use kube::{Client, ResourceExt};

use crate::engine::clean;
use crate::writes::{WriteError, limited};

/// How many pods one list request returns, as the agent's drain has it.
const PAGE: u32 = 100;

/// How many requests run at the same time.
const PARALLEL: usize = 10;

/// The type of the cause when a disruption budget, and not the server's own load, returns 429.
const BUDGET: &str = "DisruptionBudget";

/// The pods that must leave a node.
pub(super) struct Left {
    /// How many there were.
    pub(super) left: usize,
    /// What holds the first of them, by name.
    pub(super) held: Option<String>,
}

/// Asks all pods of a node to leave, but those that end and start with it.
pub(super) async fn all(client: &Client, node: &str) -> Result<Left, WriteError> {
    let mut going = on_node(client, node).await?;
    going.retain(must_go);
    going.sort_by_key(|pod| (pod.namespace(), pod.name_any()));
    let left = going.len();
    going.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    let asked = going.into_iter().map(|pod| ask(client.clone(), pod));
    let answers: Vec<_> = futures::stream::iter(asked)
        .buffered(PARALLEL)
        .collect()
        .await;
    let mut held = None;
    for answer in answers {
        held = held.or(answer?);
    }
    Ok(Left { left, held })
}

async fn on_node(client: &Client, node: &str) -> Result<Vec<Pod>, WriteError> {
    let own = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let (api, mut page): (Api<Pod>, _) = (pods(client.clone()), own.clone().limit(PAGE));
    let mut found = Vec::new();
    loop {
        let listed = limited(api.list(&page)).await?;
        found.extend(listed.items);
        match listed.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => page = own.clone().limit(PAGE).continue_token(&next),
            None => return Ok(found),
        }
    }
}

/// A finished pod keeps nothing running.
fn must_go(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().map_or("", |status| &status.phase);
    let is_finished = matches!(phase, "Succeeded" | "Failed");
    !is_finished && !belongs_to_node(&pod.metadata, pod.spec.as_ref())
}

/// What holds the pod, if it does not leave. The UID is a condition: a successor of the same name
/// may run elsewhere.
async fn ask(client: Client, pod: Pod) -> Result<Option<String>, WriteError> {
    let (space, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
    let preconditions = Preconditions {
        uid: pod.uid(),
        resource_version: None,
    };
    let parameters = EvictParams {
        delete_options: Some(DeleteParams {
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        }),
        ..EvictParams::default()
    };
    let api: Api<v1::Pod> = Api::namespaced(client, &space);
    let answer = async {
        match api.evict(&name, &parameters).await {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) => Ok(refused(&status, &space, &name)),
            Err(error) => Err(error),
        }
    };
    limited(answer).await
}

/// A pod that is gone, or is another one now, is in the next list or is not.
fn refused(status: &Status, space: &str, name: &str) -> Option<String> {
    if matches!(status.code, 404 | 409) {
        return None;
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let budget = causes.into_iter().find(|cause| cause.reason == BUDGET);
    let said = match budget {
        Some(budget) => format!(
            "a PodDisruptionBudget holds pod {space}/{name}: {}",
            budget.message
        ),
        None => format!("pod {space}/{name}: {} ({})", status.message, status.code),
    };
    Some(clean(&said))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(code: u16, causes: &serde_json::Value) -> Status {
        let status = json!({ "code": code, "message": "no", "details": { "causes": causes } });
        serde_json::from_value(status).unwrap()
    }

    #[test]
    fn held_pod_is_named_with_its_budget_or_the_servers_words() {
        let budget = json!([{ "reason": BUDGET, "message": "The disruption budget one needs 1" }]);
        let said =
            |code: u16, causes: &serde_json::Value| refused(&status(code, causes), "shop", "web");
        assert_eq!(
            said(429, &budget).as_deref(),
            Some("a PodDisruptionBudget holds pod shop/web: The disruption budget one needs 1")
        );
        assert_eq!(
            said(403, &json!([])).as_deref(),
            Some("pod shop/web: no (403)")
        );
        assert_eq!(said(404, &json!([])), None);
        assert_eq!(said(409, &json!([])), None);
    }

    #[test]
    fn pods_of_the_node_and_finished_ones_are_not_asked() {
        let pod = |owner: &str, phase: &str| -> Pod {
            let owner = json!([{ "apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u", "controller": true }]);
            serde_json::from_value(json!({
                "metadata": { "name": "p", "ownerReferences": owner },
                "spec": {}, "status": { "phase": phase },
            }))
            .unwrap()
        };
        assert!(must_go(&pod("ReplicaSet", "Running")));
        assert!(must_go(&pod("ReplicaSet", "Pending")));
        assert!(!must_go(&pod("DaemonSet", "Running")));
        assert!(!must_go(&pod("ReplicaSet", "Succeeded")));
    }
}
