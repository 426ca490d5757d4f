//! What the API server has of this node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use client::Condition;
use k8s_openapi::api::storage::v1::CSINode;
use kube::Client;
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, GroupVersionKind, NotUsed, Object};
use serde::Deserialize;
use upgrade::names;
use upgrade::reason::cut;
use upgrade::serving::Offer;

use super::kept::kept;
use super::pods::{Pod, booted, pods};
use super::proxy;
use crate::cluster::{ApiError, Cluster, doubt, limited};
use crate::drain::own_pods::own_pods;

/// The labels that Careen sets for the time of the upgrade.
const OWN_LABELS: [&str; 2] = [names::EXCLUDED, names::REMEDIATION_REFUSED];

/// A Node, with what is compared.
type Node = Object<Option<Spec>, Status>;

/// A `ResourceSlice`, with what is compared.
type Slice = Object<Devices, NotUsed>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Devices {
    driver: String,
    devices: Option<Vec<Device>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Device {}

/// A `CSINode`, with what is compared.
type Drivers = Object<Option<Registered>, NotUsed>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Registered {
    /// `null` where the node has none: the field has no `omitempty` (k8s.io/api/storage/v1,
    /// `CSINodeSpec`).
    drivers: Option<Vec<Driver>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Driver {
    name: String,
}

/// The taints that Kubernetes itself sets begin with this: of a cordon, and of conditions, which
/// have a comparison of their own.
const OF_KUBERNETES: &str = "node.kubernetes.io/";

/// The one among them that a person or a remediator sets, and that nobody else removes: it evicts
/// every pod (k8s.io/api/core/v1/well_known_taints.go, `TaintNodeOutOfService`).
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    taints: Vec<Taint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Taint {
    key: String,
    effect: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    conditions: Vec<Condition>,
    addresses: Vec<Address>,
    allocatable: BTreeMap<String, String>,
    runtime_handlers: Vec<Handler>,
    /// Of the node as a whole.
    features: Option<Features>,
}

/// Names, with `true` for what there is (k8s.io/api/core/v1, `NodeRuntimeHandlerFeatures` and
/// `NodeFeatures`).
type Features = BTreeMap<String, Option<bool>>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Handler {
    name: String,
    features: Option<Features>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Address {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

/// Looks at the Node and the pods that belong to it. Nothing is left out: what is not in a look
/// counts as gone.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn offer(cluster: &Cluster, name: &str) -> Result<Offer, ApiError> {
    look(cluster, name, Duration::ZERO).await
}

/// As [`offer`], for the note that a whole trial is compared with: no single refusal leaves a part
/// of it out, and it fits into the record.
///
/// # Errors
/// As [`offer`].
pub async fn noted(cluster: &Cluster, name: &str) -> Result<Offer, ApiError> {
    look(cluster, name, doubt::SHORT).await.map(kept)
}

async fn look(cluster: &Cluster, name: &str, doubted: Duration) -> Result<Offer, ApiError> {
    let client = cluster.client().await?;
    let node = limited(client::nodes::<Node>(client.clone()).get(name)).await?;
    let boot = booted();
    let labels = labels(node.metadata.labels.as_ref());
    let mut found = own_pods::<Pod, _>(&client, name, |list| pods(list, boot)).await?;
    let mut offer = of(node.status.unwrap_or_default());
    offer.taints = Some(taints(node.spec.unwrap_or_default()));
    offer.labels = Some(labels);
    offer.drivers = drivers(&client, name, doubted).await?;
    offer.devices = devices(&client, name, doubted).await?;
    offer.services = proxy::written().await;
    found.sort_by(|one, other| (&one.owner, &one.uid).cmp(&(&other.owner, &other.uid)));
    offer.pods = found;
    Ok(offer)
}

/// The CSI drivers that the kubelet has registered. The Node authorizer lets a kubelet read the
/// `CSINode` of its own name (kubernetes, plugin/pkg/auth/authorizer/node, `authorizeCSINode`). A
/// cluster may forbid it all the same, and then nothing is compared.
async fn drivers(
    client: &Client,
    name: &str,
    doubted: Duration,
) -> Result<Option<BTreeSet<String>>, ApiError> {
    let kind = ApiResource::erase::<CSINode>(&());
    let nodes: Api<Drivers> = Api::all_with(client.clone(), &kind);
    let ask = || limited(nodes.get(name));
    match doubt::lasting(doubted, ask).await {
        Ok(node) => Ok(Some(names(node.spec.unwrap_or_default()))),
        Err(ApiError::Missing) => Ok(Some(BTreeSet::new())),
        Err(ApiError::Refused(_) | ApiError::Unfit(_)) => Ok(None),
        Err(error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_))) => Err(error),
    }
}

/// The drivers that offer a device of this node. The Node authorizer lets a kubelet list the slices
/// of its own name (kubernetes, plugin/pkg/auth/authorizer/node, `authorizeResourceSlice`). An API
/// server without them answers 404, and then nothing is compared.
async fn devices(
    client: &Client,
    name: &str,
    doubted: Duration,
) -> Result<Option<BTreeSet<String>>, ApiError> {
    let kind = GroupVersionKind::gvk("resource.k8s.io", "v1", "ResourceSlice");
    let slices: Api<Slice> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let of_this_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
    let ask = || limited(slices.list(&of_this_node));
    match doubt::lasting(doubted, ask).await {
        Ok(list) => Ok(Some(offering(list.items))),
        Err(ApiError::Missing | ApiError::Refused(_) | ApiError::Unfit(_)) => Ok(None),
        Err(error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_))) => Err(error),
    }
}

fn offering(slices: Vec<Slice>) -> BTreeSet<String> {
    let slices = slices.into_iter().map(|slice| slice.spec);
    let offering = slices.filter(|spec| spec.devices.iter().flatten().next().is_some());
    offering.map(|spec| cut(&spec.driver)).collect()
}

fn names(registered: Registered) -> BTreeSet<String> {
    let drivers = registered.drivers.into_iter().flatten();
    drivers.map(|driver| cut(&driver.name)).collect()
}

/// The taints that keep new pods off.
fn taints(spec: Spec) -> BTreeSet<String> {
    let taints = spec.taints.into_iter();
    let taints = taints.filter(|taint| taint.effect != "PreferNoSchedule");
    let is_its_own = |key: &str| key.starts_with(OF_KUBERNETES) && key != OUT_OF_SERVICE;
    let taints = taints.filter(|taint| !is_its_own(&taint.key));
    taints.map(|taint| cut(&taint.key)).collect()
}

/// The keys of labels, without those that Careen sets.
fn labels(all: Option<&BTreeMap<String, String>>) -> BTreeSet<String> {
    let keys = all.into_iter().flat_map(BTreeMap::keys);
    let keys = keys.filter(|key| !OWN_LABELS.contains(&key.as_str()));
    keys.map(|key| cut(key)).collect()
}

/// The handlers of the runtime, without the name of the default one, which is empty. A runtime that
/// reports none, as containerd before 2.0, does not tell them.
fn handlers(handlers: &[Handler]) -> Option<BTreeSet<String>> {
    let told = !handlers.is_empty();
    let names = handlers.iter().map(|handler| cut(&handler.name));
    told.then(|| names.filter(|name| !name.is_empty()).collect())
}

/// The features of each handler and of the node.
fn features(handlers: &[Handler], node: Option<&Features>) -> Option<BTreeSet<String>> {
    let of_handlers = handlers
        .iter()
        .flat_map(|one| of_handler(&one.name, one.features.as_ref()));
    let told = node.is_some() || handlers.iter().any(|one| one.features.is_some());
    told.then(|| of_handlers.chain(of_handler("", node)).collect())
}

/// Those of the default handler, which has no name, and of the node are without a prefix.
fn of_handler(name: &str, features: Option<&Features>) -> Vec<String> {
    let has = features.into_iter().flatten();
    let has = has.filter(|(_, is_there)| **is_there == Some(true));
    has.map(|(feature, _)| match name {
        "" => cut(feature),
        name => cut(&format!("{name}/{feature}")),
    })
    .collect()
}

fn of(status: Status) -> Offer {
    let features = features(&status.runtime_handlers, status.features.as_ref());
    let conditions = status.conditions.into_iter().filter(is_compared);
    Offer {
        conditions: conditions
            .map(|one| (cut(&one.kind), cut(&one.status)))
            .collect(),
        addresses: (status.addresses.into_iter())
            .map(|one| (cut(&one.kind), cut(&one.address)))
            .collect(),
        resources: (status.allocatable.into_iter())
            .map(|(name, quantity)| (cut(&name), cut(&quantity)))
            .collect(),
        taints: None,
        drivers: None,
        handlers: handlers(&status.runtime_handlers),
        features,
        devices: None,
        labels: None,
        services: BTreeSet::new(),
        pods: Vec::new(),
    }
}

/// `Ready` has a check of its own. Careen writes its condition and those of the Node's lifecycle
/// itself.
fn is_compared(condition: &Condition) -> bool {
    let kind = condition.kind.as_str();
    kind != "Ready" && kind != names::CONDITION && !names::LIFECYCLE.contains(&kind)
}

#[cfg(test)]
mod tests;
