//! The pods of a node that is drained.

use std::collections::BTreeSet;
use std::fmt::Debug;

use client::{PodSpec, PodStatus, belongs_to_node, pods};
use infrastructure::PodToGo;
use kube::api::{Api, ListParams};
use kube::core::Object;
use kube::{Client, ResourceExt};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::writes::{WriteError, limited};

/// How many objects one list request returns, as the agent's drain has it.
const PAGE: u32 = 100;

/// The default of `terminationGracePeriodSeconds`.
const GRACE: i64 = 30;

/// A pod, with its volumes.
type Pod = Object<Option<Spec>, PodStatus>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(flatten)]
    pod: PodSpec,
    volumes: Vec<Mount>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Mount {
    name: String,
    persistent_volume_claim: Option<ClaimName>,
    ephemeral: Option<Nothing>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimName {
    claim_name: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Nothing {}

/// The pods of a node that run.
#[derive(Debug, Default)]
pub(super) struct OnNode {
    /// Those that must leave, by their names.
    pub(super) pods: Vec<PodToGo>,
    /// The claims of those that end and start with it.
    pub(super) kept: BTreeSet<String>,
}

/// Lists them.
pub(super) async fn on_node(client: &Client, node: &str) -> Result<OnNode, WriteError> {
    let own = ListParams::default().fields(&format!("spec.nodeName={node}"));
    Ok(sorted(list(&pods(client.clone()), own).await?))
}

/// Lists objects page by page.
pub(super) async fn list<K>(api: &Api<K>, all: ListParams) -> Result<Vec<K>, WriteError>
where
    K: Clone + Debug + DeserializeOwned,
{
    let (mut page, mut found) = (all.clone().limit(PAGE), Vec::new());
    loop {
        let listed = limited(api.list(&page)).await?;
        found.extend(listed.items);
        match listed.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => page = all.clone().limit(PAGE).continue_token(&next),
            None => return Ok(found),
        }
    }
}

/// A finished pod keeps nothing running, and no volume.
fn sorted(mut all: Vec<Pod>) -> OnNode {
    all.retain(|pod| {
        let phase = pod.status.as_ref().map_or("", |status| &status.phase);
        !matches!(phase, "Succeeded" | "Failed")
    });
    all.sort_by_key(|pod| (pod.namespace(), pod.name_any()));
    let stays = |pod: &Pod| belongs_to_node(&pod.metadata, pod.spec.as_ref().map(|spec| &spec.pod));
    let (stay, go): (Vec<_>, Vec<_>) = all.into_iter().partition(stays);
    OnNode {
        pods: go.iter().map(to_go).collect(),
        kept: stay.iter().flat_map(claims).collect(),
    }
}

fn to_go(pod: &Pod) -> PodToGo {
    let spec = pod.spec.as_ref().map(|spec| &spec.pod);
    PodToGo {
        uid: pod.uid().unwrap_or_default(),
        space: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
        priority: spec.map_or(0, |spec| spec.priority),
        grace: spec
            .and_then(|spec| spec.termination_grace_period_seconds)
            .unwrap_or(GRACE),
        ending: pod.metadata.deletion_timestamp.is_some(),
        claims: claims(pod).collect(),
    }
}

/// The claims of a pod, as `namespace/name`.
fn claims(pod: &Pod) -> impl Iterator<Item = String> {
    let mounts = pod.spec.iter().flat_map(|spec| &spec.volumes);
    mounts.filter_map(|mount| {
        let claim = mount.persistent_volume_claim.as_ref();
        // kubernetes.io/docs/concepts/storage/ephemeral-volumes/#persistentvolumeclaim-naming
        let ephemeral = || format!("{}-{}", pod.name_any(), mount.name);
        let name = claim.map(|claim| claim.claim_name.clone());
        let name = name.or_else(|| mount.ephemeral.as_ref().map(|_| ephemeral()))?;
        Some(format!("{}/{name}", pod.namespace().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, owner: &str, phase: &str) -> Pod {
        let owner = json!([{ "apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u", "controller": true }]);
        let claim = json!({ "claimName": format!("data-{name}") });
        let volumes: [Value; 3] = [
            json!({ "name": "data", "persistentVolumeClaim": claim }),
            json!({ "name": "scratch", "ephemeral": { "volumeClaimTemplate": {} } }),
            json!({ "name": "config", "configMap": { "name": "c" } }),
        ];
        serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "shop", "uid": name, "ownerReferences": owner },
            "spec": { "nodeName": "n", "priority": 7, "volumes": volumes },
            "status": { "phase": phase },
        }))
        .unwrap()
    }

    #[test]
    fn pods_of_the_node_and_finished_ones_are_not_asked() {
        let found = sorted(vec![
            pod("waits", "ReplicaSet", "Pending"),
            pod("done", "ReplicaSet", "Succeeded"),
            pod("daemon", "DaemonSet", "Running"),
            pod("runs", "ReplicaSet", "Running"),
        ]);
        let names: Vec<_> = found.pods.iter().map(|pod| &*pod.name).collect();
        assert_eq!(names, ["runs", "waits"]);
        let kept: Vec<_> = found.kept.into_iter().collect();
        assert_eq!(kept, ["shop/daemon-scratch", "shop/data-daemon"]);
    }

    #[test]
    fn priority_grace_period_and_claims_of_a_pod_are_read() {
        let pods = sorted(vec![pod("db", "StatefulSet", "Running")]).pods;
        let expected = PodToGo {
            uid: "db".to_owned(),
            space: "shop".to_owned(),
            name: "db".to_owned(),
            priority: 7,
            grace: GRACE,
            ending: false,
            claims: ["shop/data-db", "shop/db-scratch"]
                .map(str::to_owned)
                .into(),
        };
        assert_eq!(pods, [expected]);
    }
}
