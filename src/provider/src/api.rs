//! Kubernetes objects with the few fields that we read. The full types would cost tens of kilobytes an object.

use k8s_openapi::api::core::v1;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, DynamicResourceScope, GroupVersionKind, NotUsed, Object};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::clusters::{Node, Pod};
use crate::names;

/// A Machine.
pub type Machine = Object<MachineSpec, MachineStatus>;
/// A Cluster.
pub type Cluster = Object<ClusterSpec, Option<NotUsed>>;
/// A KubeadmControlPlane.
pub type ControlPlane = Object<NotUsed, Option<NotUsed>>;
/// A MachineDeployment.
pub type MachineDeployment = Object<DeploymentSpec, Option<NotUsed>>;

/// What a Machine should be.
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

/// How a Machine is.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// Its Node.
    pub node_ref: Option<Named>,
}

/// Something's name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Named {
    /// The name.
    pub name: String,
}

/// What a Cluster should be.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Nobody is to work on it.
    pub paused: bool,
    /// The owner of its control plane's Machines.
    pub control_plane_ref: Reference,
}

/// What a MachineDeployment should be.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentSpec {
    /// Its Cluster.
    pub cluster_name: String,
    /// How many Machines.
    #[serde(deserialize_with = "if_readable")]
    pub replicas: Option<u32>,
    /// Nobody is to roll it out.
    #[serde(deserialize_with = "if_readable")]
    pub paused: Option<bool>,
    /// How it rolls out.
    pub rollout: Rollout,
}

/// How a MachineDeployment rolls out.
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
    /// Limits.
    pub rolling_update: RollingUpdate,
}

/// Limits of a rollout.
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
    /// As `25%`.
    Percent(String),
}

/// A value that cannot be read is as good as none: one object with such a value would hide all others of its kind.
fn if_readable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// The kind of control plane that Cluster API itself brings.
#[must_use]
pub fn kubeadm_control_plane() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        names::CONTROL_PLANE_GROUP,
        names::CORE_VERSION,
        "KubeadmControlPlane",
    ))
}

/// A kind of Cluster API's core.
#[must_use]
pub fn core(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        names::CORE_GROUP,
        names::CORE_VERSION,
        kind,
    ))
}

/// Objects of a kind: of all namespaces, or of one.
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

/// The pods of a workload cluster's system.
#[must_use]
pub fn system_pods(client: Client) -> Api<Pod> {
    Api::namespaced_with(client, "kube-system", &ApiResource::erase::<v1::Pod>(&()))
}
