//! Waits until the volumes of the pods that left are detached. A volume that is still attached to a
//! node that reboots cannot be attached elsewhere: its pod waits for the reboot, or for six minutes
//! until the attach-detach controller gives up on the node.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::Api;
use kube::core::{ApiResource, Object};
use kube::{Client, ResourceExt};
use serde::Deserialize;
use tokio::time::sleep;
use upgrade::reason::few;

use super::attachments::{csi_volume, has_attachment};
use super::own_pods::own_pods;
use super::task::Drain;
use super::volumes_note;
use crate::cluster::{ApiError, limited};

/// How often the agent looks at the Node. The kubelet reports every 10 s.
const LOOK: Duration = Duration::from_secs(2);

/// How long the note before the drain may take. Without it, no volume is waited for.
const NOTING: Duration = Duration::from_secs(30);

/// A Node, with its volumes.
type Node = Object<Option<Ignored>, Status>;

/// A pod, with its volumes.
type Pod = Object<Option<PodSpec>, PodStatus>;

/// A claim, with the name of its volume.
type Claim = Object<ClaimSpec, Ignored>;

/// A volume, with its name at the driver.
type Volume = Object<VolumeSpec, Ignored>;

#[derive(Clone, Debug, Default, Deserialize)]
struct Ignored {}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    volumes_in_use: Vec<String>,
    volumes_attached: Vec<Attached>,
}

#[derive(Clone, Debug, Deserialize)]
struct Attached {
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodSpec {
    volumes: Vec<Mount>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Mount {
    name: String,
    persistent_volume_claim: Option<ClaimName>,
    ephemeral: Option<Ignored>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimName {
    claim_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClaimSpec {
    volume_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct VolumeSpec {
    csi: Option<Csi>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Csi {
    driver: String,
    volume_handle: String,
}

/// A claim's namespace and name.
type Key = (String, String);

/// What the agent knows of the node's volumes.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    /// Those that were attached. The Node forgets a volume before it is detached.
    noted: BTreeSet<String>,
    /// Those of the pods that stay. When they are needed, the other pods are gone, so they do not
    /// change.
    kept: Option<BTreeSet<String>>,
    /// Those that the last look showed as detached. The second look in a row is believed.
    perhaps: BTreeSet<String>,
}

impl Volumes {
    /// Those of the noted volumes that still count as attached. The server answers for an
    /// attachment that is gone as for one that it does not show at this moment (403), so one look
    /// is not enough.
    fn believed(&mut self, noted: BTreeSet<String>, attached: &BTreeSet<String>) -> Vec<String> {
        let gone: BTreeSet<_> = noted.difference(attached).cloned().collect();
        let believed: BTreeSet<_> = gone.intersection(&self.perhaps).cloned().collect();
        self.noted = noted.difference(&believed).cloned().collect();
        self.perhaps = gone;
        self.noted.iter().cloned().collect()
    }
}

/// Notes the node's volumes before the drain, beside those that an earlier agent noted in it. A
/// volume may leave the Node's status with its pod.
pub(super) async fn noted(drain: &Drain<'_>) -> Volumes {
    let mut volumes = Volumes::default();
    let limit = NOTING.min(Duration::from_secs(drain.policy.detach_seconds));
    if limit.is_zero() {
        return volumes;
    }
    volumes.noted = volumes_note::read(drain.volumes, drain.id);
    let looked = tokio::time::timeout(limit, note(drain, &mut volumes)).await;
    if looked.is_err() {
        tracing::warn!("the node's volumes are not known before the drain");
    }
    if !volumes.noted.is_empty() {
        volumes_note::write(drain.volumes, drain.id, &volumes.noted);
    }
    volumes
}

/// Looks until the server answers.
async fn note(drain: &Drain<'_>, volumes: &mut Volumes) {
    while let Err(error) = look(drain, volumes).await {
        tracing::debug!("the node's volumes are not known: {error}");
        sleep(LOOK).await;
    }
}

/// Waits until no volume is attached except those of the pods that stay, up to the policy's limit.
pub(super) async fn detached(drain: &Drain<'_>, mut volumes: Volumes) {
    let mut left = Vec::new();
    let wait = async {
        loop {
            match remaining(drain, &mut volumes).await {
                Ok(volumes) if volumes.is_empty() => return,
                Ok(volumes) => left = volumes,
                Err(error) => tracing::debug!("the node's volumes are not known: {error}"),
            }
            (drain.progress)(100, waiting(&left));
            sleep(LOOK).await;
        }
    };
    let seconds = drain.policy.detach_seconds;
    let limit = Duration::from_secs(seconds);
    if !limit.is_zero() && tokio::time::timeout(limit, wait).await.is_err() {
        let waited = waiting(&left);
        tracing::warn!("{waited}: the limit of {seconds} s is over, so the upgrade continues");
    }
    volumes_note::remove(drain.volumes);
}

/// Without a time, so that the Node is written only when the volumes change.
fn waiting(left: &[String]) -> String {
    match left {
        [] => "waiting for the state of the node's volumes".to_owned(),
        [one] => format!("waiting for 1 volume to detach: {one}"),
        all => format!("waiting for {} volumes to detach: {}", all.len(), few(all)),
    }
}

/// The volumes that should still detach.
async fn remaining(drain: &Drain<'_>, volumes: &mut Volumes) -> Result<Vec<String>, ApiError> {
    let shown = look(drain, volumes).await?;
    if volumes.noted.is_empty() {
        return Ok(Vec::new());
    }
    let client = drain.cluster.client().await?;
    let kept = match &volumes.kept {
        Some(kept) => kept,
        None => volumes
            .kept
            .insert(of_pods_that_stay(&client, drain.node).await?),
    };
    let mut attached = BTreeSet::new();
    for volume in volumes.noted.difference(kept) {
        if shown.contains(volume) || has_attachment(&client, volume, drain.node).await? {
            attached.insert(volume.clone());
        }
    }
    let noted = volumes.noted.difference(kept).cloned().collect();
    Ok(volumes.believed(noted, &attached))
}

/// The volumes that the Node shows now. They are noted too.
async fn look(drain: &Drain<'_>, volumes: &mut Volumes) -> Result<BTreeSet<String>, ApiError> {
    let nodes = client::nodes::<Node>(drain.cluster.client().await?);
    let node = limited(nodes.get(drain.node)).await?;
    let shown = all(node.status.unwrap_or_default());
    volumes.noted.extend(shown.iter().cloned());
    Ok(shown)
}

/// The volumes that the kubelet uses, and those that the attach-detach controller has attached
/// (k8s.io/api/core/v1, `NodeStatus`).
fn all(status: Status) -> BTreeSet<String> {
    let attached = status.volumes_attached.into_iter().map(|one| one.name);
    status.volumes_in_use.into_iter().chain(attached).collect()
}

/// The volumes of the pods that are on the node. A volume that cannot be named here counts as one
/// that should detach, so the limit ends the wait for it.
async fn of_pods_that_stay(client: &Client, node: &str) -> Result<BTreeSet<String>, ApiError> {
    let mut volumes = BTreeSet::new();
    let claims: HashSet<_> = own_pods(client, node, claims).await?.into_iter().collect();
    for claim in claims {
        match volume(client, &claim).await {
            Ok(name) => volumes.extend(name),
            Err(error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_))) => {
                return Err(error);
            }
            Err(error) => {
                let (namespace, name) = claim;
                tracing::warn!("the volume of claim {namespace}/{name} is not known: {error}");
            }
        }
    }
    Ok(volumes)
}

/// The claims of the pods that still run. A finished pod keeps no volume.
fn claims(pods: &[Pod]) -> Vec<Key> {
    let running = pods.iter().filter(|pod| {
        let phase = pod.status.as_ref().map_or("", |status| &status.phase);
        !matches!(phase, "Succeeded" | "Failed")
    });
    running.flat_map(claims_of).collect()
}

fn claims_of(pod: &Pod) -> Vec<Key> {
    let namespace = pod.namespace().unwrap_or_default();
    let mounts = pod.spec.iter().flat_map(|spec| &spec.volumes);
    let claims = mounts.filter_map(|mount| {
        // kubernetes.io/docs/concepts/storage/ephemeral-volumes/#persistentvolumeclaim-naming
        let ephemeral = mount.ephemeral.as_ref();
        let ephemeral = ephemeral.map(|_| format!("{}-{}", pod.name_any(), mount.name));
        let claim = mount.persistent_volume_claim.as_ref();
        claim.map(|claim| claim.claim_name.clone()).or(ephemeral)
    });
    claims.map(|claim| (namespace.clone(), claim)).collect()
}

/// The volume's name in the status of a Node. The Node authorizer lets a kubelet read the claims
/// and volumes of its own pods.
async fn volume(client: &Client, (namespace, name): &Key) -> Result<Option<String>, ApiError> {
    let claim = ApiResource::erase::<PersistentVolumeClaim>(&());
    let claims: Api<Claim> = Api::namespaced_with(client.clone(), namespace, &claim);
    let bound = limited(claims.get(name)).await?.spec.volume_name;
    let volume = ApiResource::erase::<PersistentVolume>(&());
    let volumes: Api<Volume> = Api::all_with(client.clone(), &volume);
    let csi = limited(volumes.get(&bound)).await?.spec.csi;
    Ok(csi.map(|csi| csi_volume(&csi.driver, &csi.volume_handle)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn volumes_in_use_and_attached_volumes_are_waited_for() {
        let status = json!({
            "volumesInUse": ["b", "a"],
            "volumesAttached": [{ "name": "b", "devicePath": "" }, { "name": "c", "devicePath": "" }],
        });
        let all_of_them = all(serde_json::from_value(status).unwrap());
        assert!(all_of_them.iter().eq(["a", "b", "c"]), "{all_of_them:?}");
        assert!(all(Status::default()).is_empty());
    }

    #[test]
    fn volume_counts_as_detached_after_two_looks_in_a_row() {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut volumes = Volumes::default();
        let noted: BTreeSet<String> = set(&["a", "b"]);
        assert_eq!(volumes.believed(noted, &set(&["a"])), ["a", "b"]);
        let noted = volumes.noted.clone();
        assert_eq!(volumes.believed(noted, &set(&["a", "b"])), ["a", "b"]);
        let noted = volumes.noted.clone();
        assert_eq!(volumes.believed(noted, &set(&[])), ["a", "b"]);
        let noted = volumes.noted.clone();
        assert_eq!(volumes.believed(noted, &set(&[])), [""; 0]);
    }

    #[test]
    fn claims_of_running_pods_count_and_of_finished_ones_not() {
        let pod = |phase: &str| -> Pod {
            serde_json::from_value(json!({
                "metadata": { "namespace": "shop", "name": "db-0" },
                "spec": { "volumes": [
                    { "name": "data", "persistentVolumeClaim": { "claimName": "data-db-0" } },
                    { "name": "scratch", "ephemeral": { "volumeClaimTemplate": {} } },
                    { "name": "config", "configMap": { "name": "db" } },
                ] },
                "status": { "phase": phase },
            }))
            .unwrap()
        };
        let names: Vec<_> = claims(&[pod("Running")]).into_iter().collect();
        let expected =
            ["data-db-0", "db-0-scratch"].map(|name| ("shop".to_owned(), name.to_owned()));
        assert_eq!(names, expected);
        assert!(claims(&[pod("Succeeded"), pod("Failed")]).is_empty());
    }

    #[test]
    fn few_of_the_volumes_that_are_waited_for_are_named() {
        let one = ["disk".to_owned()];
        assert_eq!(waiting(&one), "waiting for 1 volume to detach: disk");
        let many = vec!["disk".to_owned(); 14];
        let said = waiting(&many);
        assert!(
            said.starts_with("waiting for 14 volumes to detach: disk, "),
            "{said}"
        );
        assert!(said.ends_with(" and 4 more"), "{said}");
    }
}
