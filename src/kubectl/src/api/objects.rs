//! Nodes, pods and budgets with the few fields that we read. The full types of the API take tens of kilobytes an object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::core::{NotUsed, Object};
use serde::{Deserialize, Serialize};

use super::Cleaned;

/// A Node.
pub type Node = Cleaned<Object<Option<NodeSpec>, NodeStatus>>;
/// A pod.
pub type Pod = Cleaned<Object<Option<NotUsed>, PodStatus>>;
/// A PodDisruptionBudget.
pub type Budget = Cleaned<Object<Option<BudgetSpec>, BudgetStatus>>;

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
    /// `Ready`, our own and others.
    pub conditions: Vec<Condition>,
    /// Versions.
    pub node_info: NodeInfo,
}

/// One condition of a Node.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// In one word why.
    #[serde(default)]
    pub reason: String,
    /// In a sentence.
    #[serde(default)]
    pub message: String,
    /// When its writer was last heard of.
    #[serde(default)]
    pub last_heartbeat_time: Option<Time>,
    /// When it changed last.
    #[serde(default)]
    pub last_transition_time: Option<Time>,
}

/// Versions of a Node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeInfo {
    /// The kubelet's.
    pub kubelet_version: String,
}

/// How a pod is.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct PodStatus {
    /// `Running`, `Succeeded`, ...
    pub phase: String,
}

/// Whom a budget is about.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct BudgetSpec {
    /// The pods; none when absent.
    pub selector: Option<LabelSelector>,
}

/// What a budget allows now.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BudgetStatus {
    /// So many pods may be evicted at this moment.
    pub disruptions_allowed: i32,
}
