//! Nodes and pods with only the fields that the agent and kubectl read. The API's full types decode
//! to tens of kilobytes per object, and their decoders alone would be a fifth of the agent.

use k8s_openapi::api::core::v1;
use kube::api::{Api, PatchParams};
use kube::core::{ApiResource, DynamicResourceScope, Object};
use kube::{Client, Resource};
use serde::{Deserialize, Serialize};

/// A Node.
pub type Node = Object<Option<NodeSpec>, NodeStatus>;

/// A pod.
pub type Pod = Object<Option<PodSpec>, PodStatus>;

/// The desired state of a Node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct NodeSpec {
    /// The Node is cordoned.
    pub unschedulable: bool,
    /// The taints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// A taint of a Node, without its effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

impl NodeSpec {
    /// The taints by their keys.
    #[must_use]
    pub fn taints(&self) -> std::collections::BTreeMap<String, String> {
        let pair = |taint: &Taint| (taint.key.clone(), taint.value.clone());
        self.taints.iter().map(pair).collect()
    }
}

/// The state that its kubelet reports.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// `Ready` and other conditions.
    pub conditions: Vec<Condition>,
    /// The boot id and the versions.
    pub node_info: NodeInfo,
}

impl NodeStatus {
    /// The condition of this type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.kind == kind)
    }

    /// Type, status and reason of each condition.
    pub fn said(&self) -> impl Iterator<Item = [&str; 3]> {
        let all = self.conditions.iter();
        all.map(|one| [&*one.kind, &*one.status, &*one.reason])
    }
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
    /// The reason, in one word.
    #[serde(default)]
    pub reason: String,
    /// The reason, in a sentence.
    #[serde(default)]
    pub message: String,
    /// When the status last changed, in the API's format.
    #[serde(default)]
    pub last_transition_time: Option<String>,
    /// When its writer last wrote it, in the API's format.
    #[serde(default)]
    pub last_heartbeat_time: Option<String>,
}

/// The boot id and the versions of a Node.
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

/// The desired state of a pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// The node that it is bound to.
    pub node_name: String,
    /// The priority, from its priority class.
    pub priority: i32,
    /// How many seconds it may take to end; the server writes its default of 30.
    pub termination_grace_period_seconds: Option<i64>,
    /// The taints that it tolerates.
    pub tolerations: Vec<Toleration>,
    /// The nodes on which it may run.
    pub affinity: Affinity,
}

/// A taint that a pod tolerates.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Toleration {
    /// The taint's key; empty for all taints.
    pub key: String,
    /// `Exists` or `Equal`; empty is `Equal`.
    pub operator: String,
    /// The taint's value.
    pub value: String,
    /// The taint's effect; empty for all effects.
    pub effect: String,
}

/// The affinity of a pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    /// The affinity to nodes.
    pub node_affinity: NodeAffinity,
}

/// The affinity of a pod to nodes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct NodeAffinity {
    /// The selector that the scheduler must respect.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: NodeSelector,
}

/// A selector of nodes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelector {
    /// A node must match one of these terms.
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// One term of a selector of nodes. A node must match all of its requirements.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// The requirements on the fields of the Node.
    pub match_fields: Vec<FieldRequirement>,
}

/// One requirement on a field of the Node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct FieldRequirement {
    /// The field, for example `metadata.name`.
    pub key: String,
    /// For example `In`.
    pub operator: String,
    /// The accepted values.
    pub values: Vec<String>,
}

/// The observed state of a pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct PodStatus {
    /// For example `Running` or `Succeeded`.
    pub phase: String,
}

/// The API of Nodes, read as this type.
#[must_use]
pub fn nodes<K>(client: Client) -> Api<K>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    Api::all_with(client, &ApiResource::erase::<v1::Node>(&()))
}

/// The API of pods of all namespaces, read as this type.
#[must_use]
pub fn pods<K>(client: Client) -> Api<K>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    Api::all_with(client, &ApiResource::erase::<v1::Pod>(&()))
}

/// The parameters of a patch with this field manager.
#[must_use]
pub fn patch_by(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    }
}
