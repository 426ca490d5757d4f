//! Nodes and pods with the few fields that we read. The full types of the API decode to tens of kilobytes an object, and
//! their decoders alone would be a fifth of this program.

use k8s_openapi::api::core::v1;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, Object};
use serde::{Deserialize, Serialize};

/// A Node.
pub type Node = Object<Option<NodeSpec>, NodeStatus>;

/// A pod.
pub type Pod = Object<Option<PodSpec>, PodStatus>;

/// What a Node is to be.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Cordoned.
    pub unschedulable: bool,
}

/// What its kubelet says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// `Ready` and others.
    pub conditions: Vec<Condition>,
    /// Boot and versions.
    pub node_info: NodeInfo,
}

/// One condition of a Node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The word for why.
    #[serde(default)]
    pub reason: String,
    /// When it changed last, as the API writes it.
    #[serde(default)]
    pub last_transition_time: Option<String>,
    /// When it was said last, as the API writes it.
    #[serde(default)]
    pub last_heartbeat_time: Option<String>,
}

/// Boot and versions of a Node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct NodeInfo {
    /// The kernel's boot id.
    #[serde(rename = "bootID")]
    pub boot_id: String,
    /// The kubelet's version.
    #[serde(rename = "kubeletVersion")]
    pub kubelet_version: String,
}

/// What a pod is to be.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct PodSpec {
    /// As its priority class says.
    pub priority: i32,
}

/// How a pod is.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct PodStatus {
    /// `Running`, `Succeeded`, ...
    pub phase: String,
}

/// The API of Nodes.
#[must_use]
pub fn nodes(client: Client) -> Api<Node> {
    Api::all_with(client, &ApiResource::erase::<v1::Node>(&()))
}

/// The API of pods of all namespaces.
#[must_use]
pub fn pods(client: Client) -> Api<Pod> {
    Api::all_with(client, &ApiResource::erase::<v1::Pod>(&()))
}
