//! Kubernetes objects with only the fields that Careen reads. The full types take tens of kilobytes
//! per object.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, DynamicResourceScope, GroupVersionKind, NotUsed, Object};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::clusters::seen::{Node, Pod};
use crate::names;

/// A Machine.
pub type Machine = Object<MachineSpec, MachineStatus>;
/// A Cluster.
pub type Cluster = Object<ClusterSpec, Option<NotUsed>>;
/// A KubeadmControlPlane.
pub type ControlPlane = Object<ControlPlaneSpec, Option<NotUsed>>;
/// A MachineDeployment.
pub type MachineDeployment = Object<DeploymentSpec, Option<NotUsed>>;

/// The desired state of a Machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// Its version.
    pub version: Option<String>,
    /// Its provider id.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Its InfraMachine.
    pub infrastructure_ref: Reference,
}

/// A reference by group, kind and name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reference {
    /// The API group.
    pub api_group: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// The observed state of a Machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// Its Node.
    pub node_ref: Option<Named>,
}

/// A reference by name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Named {
    /// The name.
    pub name: String,
}

/// The desired state of a Cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The Cluster is paused.
    pub paused: bool,
    /// The object that owns the control plane's Machines.
    pub control_plane_ref: Reference,
}

/// The desired state of a MachineDeployment.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// The desired number of Machines.
    #[serde(deserialize_with = "if_readable")]
    pub replicas: Option<u32>,
    /// The rollout is paused.
    #[serde(deserialize_with = "if_readable")]
    pub paused: Option<bool>,
    /// The rollout settings.
    pub rollout: Rollout,
    /// What its Machines have.
    #[serde(deserialize_with = "if_readable")]
    pub template: Option<Template>,
}

/// The desired state of a KubeadmControlPlane.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlaneSpec {
    /// What its Machines have.
    #[serde(deserialize_with = "if_readable")]
    pub machine_template: Option<Template>,
}

/// What an owner gives to each of its Machines.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Template {
    /// The metadata.
    pub metadata: TemplateMetadata,
}

/// The metadata that an owner gives to each of its Machines.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct TemplateMetadata {
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The rollout settings of a MachineDeployment.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Rollout {
    /// The strategy.
    pub strategy: Strategy,
}

/// The strategy of a rollout.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Strategy {
    /// The limits of a rolling update.
    pub rolling_update: RollingUpdate,
}

/// The limits of a rolling update.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdate {
    /// A number or a percentage.
    #[serde(deserialize_with = "if_readable")]
    pub max_unavailable: Option<IntOrPercent>,
}

/// A number or a percentage of the replicas.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum IntOrPercent {
    /// A number.
    Number(i64),
    /// A percentage such as `25%`.
    Percent(String),
}

/// Treats an unreadable value as absent. Otherwise one object with such a value would hide all
/// others of its kind.
fn if_readable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// The control plane kind that Cluster API provides.
#[must_use]
pub fn kubeadm_control_plane() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        names::CONTROL_PLANE_GROUP,
        names::CORE_VERSION,
        "KubeadmControlPlane",
    ))
}

/// A kind of the Cluster API core group.
#[must_use]
pub fn core(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        names::CORE_GROUP,
        names::CORE_VERSION,
        kind,
    ))
}

/// Objects of one kind, from all namespaces or from one.
#[must_use]
pub fn scoped<K>(client: Client, resource: &ApiResource, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, resource),
        None => Api::all_with(client, resource),
    }
}

/// The Nodes of a workload cluster.
#[must_use]
pub fn nodes(client: Client) -> Api<Node> {
    client::nodes(client)
}

/// The pods in `kube-system` of a workload cluster.
#[must_use]
pub fn system_pods(client: Client) -> Api<Pod> {
    Api::namespaced_with(client, "kube-system", &ApiResource::erase::<v1::Pod>(&()))
}
