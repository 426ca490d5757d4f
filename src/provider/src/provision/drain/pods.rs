//! The pods of a node that is drained.

use std::collections::BTreeSet;

use client::{PodSpec, PodStatus, belongs_to_node, pods};
use infrastructure::PodToGo;
use kube::api::ListParams;
use kube::core::Object;
use kube::{Client, ResourceExt};
use serde::Deserialize;

use super::list::list;
use crate::clusters::Size;
use crate::writes::WriteError;

/// The most pods that one Node is expected to have. The kubelet's default is 110.
const MOST: usize = 5000;

/// The longest name, in bytes. Kubernetes accepts none that is longer.
const NAME: usize = 253;

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

/// A pod that runs, as far as a drain needs it.
struct Running {
    pod: PodToGo,
    /// It ends and starts with the Node.
    stays: bool,
}

impl Size for Running {
    fn size(&self) -> usize {
        let pod = &self.pod;
        let claims: usize = pod
            .claims
            .iter()
            .map(|claim| size_of_val(claim) + claim.len())
            .sum();
        size_of::<Self>() + pod.uid.len() + pod.space.len() + pod.name.len() + claims
    }
}

/// Lists them.
pub(super) async fn on_node(client: &Client, node: &str) -> Result<OnNode, WriteError> {
    let own = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let all = list(&pods(client.clone()), own, MOST, running).await?;
    Ok(sorted(all))
}

/// A finished pod keeps nothing running, and no volume.
fn running(pod: Pod) -> Option<Running> {
    let phase = pod.status.as_ref().map_or("", |status| &status.phase);
    let runs = !matches!(phase, "Succeeded" | "Failed");
    runs.then(|| Running {
        stays: belongs_to_node(&pod.metadata, pod.spec.as_ref().map(|spec| &spec.pod)),
        pod: to_go(&pod),
    })
}

fn sorted(mut all: Vec<Running>) -> OnNode {
    all.sort_by(|a, b| (&a.pod.space, &a.pod.name).cmp(&(&b.pod.space, &b.pod.name)));
    let (stay, go): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.stays);
    OnNode {
        pods: go.into_iter().map(|one| one.pod).collect(),
        kept: stay.into_iter().flat_map(|one| one.pod.claims).collect(),
    }
}

fn to_go(pod: &Pod) -> PodToGo {
    let spec = pod.spec.as_ref().map(|spec| &spec.pod);
    PodToGo {
        uid: name(pod.uid()),
        space: name(pod.namespace()),
        name: name(pod.metadata.name.clone()),
        priority: spec.map_or(0, |spec| spec.priority),
        grace: spec
            .and_then(|spec| spec.termination_grace_period_seconds)
            .unwrap_or(GRACE),
        ending: pod.metadata.deletion_timestamp.is_some(),
        claims: claims(pod).collect(),
    }
}

/// A name, limited to the length that Kubernetes accepts.
fn name(text: Option<String>) -> String {
    let mut text = text.unwrap_or_default();
    text.truncate(text.floor_char_boundary(NAME));
    text
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

    fn read(all: Vec<Pod>) -> OnNode {
        sorted(all.into_iter().filter_map(running).collect())
    }

    #[test]
    fn long_name_is_cut_and_counts_in_the_size() {
        let long = "x".repeat(100_000);
        let one = running(pod(&long, "ReplicaSet", "Running")).unwrap();
        assert_eq!(one.pod.name.len(), NAME);
        assert!(one.size() > one.pod.claims.iter().map(String::len).sum());
    }

    #[test]
    fn pods_of_the_node_and_finished_ones_are_not_asked() {
        let found = read(vec![
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
        let pods = read(vec![pod("db", "StatefulSet", "Running")]).pods;
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
