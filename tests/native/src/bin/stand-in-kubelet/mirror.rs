//! Keeps the mirror pods: what the API server shows of the static pods.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::pods::Shown;
use crate::ready::Ready;

const HASH: &str = "kubernetes.io/config.hash";
const MIRROR: &str = "kubernetes.io/config.mirror";
const SOURCE: &str = "kubernetes.io/config.source";

/// Makes the mirror pods equal to the static pods: their set, their hashes, their status.
pub async fn keep(client: &Client, node: &Node, shown: &[Shown], ready: &Ready) -> Result<()> {
    let owner = node
        .metadata
        .name
        .clone()
        .context("a Node without a name")?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
    let mut there = mirrored(&pods, &owner).await?;
    for pod in shown {
        let name = format!("{}-{owner}", pod.name);
        let known = there.remove(&name);
        let current = match known.filter(|known| hash(known) == Some(&pod.manifest.digest)) {
            Some(known) => known,
            None => replaced(&pods, &name, mirror(&name, node, pod)?).await?,
        };
        let ready = pod.runs && ready.get(&pod.name) == Some(&true);
        report(&pods, &current, pod, ready).await?;
    }
    for name in there.keys() {
        remove(&pods, name).await?;
    }
    Ok(())
}

async fn mirrored(pods: &Api<Pod>, node: &str) -> Result<BTreeMap<String, Pod>> {
    let own = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let named = |pod: Pod| Some((pod.metadata.name.clone()?, pod));
    let all = pods.list(&own).await?.items;
    Ok(all
        .into_iter()
        .filter(|pod| annotation(pod, MIRROR).is_some())
        .filter_map(named)
        .collect())
}

fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a String> {
    pod.metadata.annotations.as_ref()?.get(name)
}

fn hash(pod: &Pod) -> Option<&String> {
    annotation(pod, HASH)
}

async fn replaced(pods: &Api<Pod>, name: &str, new: Pod) -> Result<Pod> {
    remove(pods, name).await?;
    println!("mirror {name}");
    Ok(pods.create(&PostParams::default(), &new).await?)
}

async fn remove(pods: &Api<Pod>, name: &str) -> Result<()> {
    let now = DeleteParams::default().grace_period(0);
    match pods.delete(name, &now).await {
        Err(error) if !is_not_found(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// What a kubelet adds to the pod of a manifest.
fn mirror(name: &str, node: &Node, shown: &Shown) -> Result<Pod> {
    let mut pod = shown.manifest.pod.clone();
    let digest = &shown.manifest.digest;
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.namespace = Some("kube-system".to_owned());
    pod.metadata.owner_references = Some(vec![owner(node)?]);
    let annotations = pod.metadata.annotations.get_or_insert_default();
    for (key, value) in [(HASH, digest.as_str()), (MIRROR, digest), (SOURCE, "file")] {
        annotations.insert(key.to_owned(), value.to_owned());
    }
    let spec = pod.spec.as_mut().context("a pod without a spec")?;
    spec.node_name = node.metadata.name.clone();
    spec.tolerations.get_or_insert_default().push(Toleration {
        effect: Some("NoExecute".to_owned()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    });
    pod.status = None;
    Ok(pod)
}

fn owner(node: &Node) -> Result<OwnerReference> {
    Ok(OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: node
            .metadata
            .name
            .clone()
            .context("a Node without a name")?,
        uid: node.metadata.uid.clone().context("a Node without a UID")?,
        controller: Some(true),
        block_owner_deletion: None,
    })
}

/// Writes the status if it says something else.
async fn report(pods: &Api<Pod>, current: &Pod, shown: &Shown, ready: bool) -> Result<()> {
    let said = current
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref()?.first())
        .map(|container| (container.started, container.ready, container.restart_count));
    let is_said = said == Some((Some(shown.runs), ready, shown.restarts));
    if is_said && says_ready(current) == ready {
        return Ok(());
    }
    let name = current.metadata.name.as_deref().unwrap_or_default();
    let patch = Patch::Strategic(json!({ "status": status(shown, ready) }));
    pods.patch_status(name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// The node controller marks the pods of a node that is away as not Ready, and leaves it to the
/// kubelet to take that back.
fn says_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one.type_ == "Ready" && one.status == "True")
}

fn status(shown: &Shown, ready: bool) -> Value {
    let container = shown.manifest.container();
    let image = container.and_then(|container| container.image.as_deref());
    json!({
        "phase": "Running",
        "conditions": [
            condition("Initialized", true),
            condition("PodScheduled", true),
            condition("ContainersReady", ready),
            condition("Ready", ready),
        ],
        "containerStatuses": [{
            "name": container.map(|container| container.name.as_str()),
            "image": image,
            "imageID": image,
            "ready": ready,
            "started": shown.runs,
            "restartCount": shown.restarts,
            "state": state(shown),
        }],
    })
}

fn condition(kind: &str, holds: bool) -> Value {
    let status = if holds { "True" } else { "False" };
    let now = format!("{:.0}", Timestamp::now());
    json!({"type": kind, "status": status, "lastTransitionTime": now})
}

fn state(shown: &Shown) -> Value {
    if shown.runs {
        json!({"running": {"startedAt": format!("{:.0}", shown.since)}})
    } else {
        json!({"waiting": {"reason": "CrashLoopBackOff"}})
    }
}
