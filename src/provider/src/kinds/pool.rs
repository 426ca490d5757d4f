//! CareenMachinePool and its template.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::machine::{MachineRequest, NodeInfo};
use super::parts::{Initialization, TemplateMetadata};
use crate::catalogue::Condition;

/// What a person says of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolRequest {
    /// What each machine asks of its host.
    pub template: MachineRequest,
    /// How many machines may be unavailable while the pool is upgraded in place.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10000))]
    pub max_unavailable: i32,
    /// What happens to the machines when something changes that no upgrade in place can change: the
    /// name of the bootstrap Secret of the MachinePool, or hostSelector, hostName, minimum or
    /// release of the template. Keep: new machines only. Replace: each machine is deleted and made
    /// again, within maxUnavailable.
    #[serde(default)]
    pub other_changes: OtherChanges,
}

/// What happens to machines that no upgrade in place can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum OtherChanges {
    /// They stay.
    #[default]
    Keep,
    /// They are replaced.
    Replace,
}

const fn one() -> i32 {
    1
}

/// A MachinePool on hosts that exist already.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, KubeSchema,
)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "CareenMachinePool",
    plural = "careenmachinepools",
    category = "cluster-api",
    namespaced,
    status = "CareenMachinePoolStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name":"Replicas","type":"integer","jsonPath":".status.replicas"}"#,
    printcolumn = r#"{"name":"UpToDate","type":"integer","jsonPath":".status.upToDateReplicas"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct CareenMachinePoolSpec {
    /// What a person says of it.
    #[serde(flatten)]
    pub request: PoolRequest,
    /// The provider ids of its Nodes. Careen writes them.
    #[serde(
        default,
        rename = "providerIDList",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = 10000), inner(length(min = 1, max = 512)))]
    pub provider_id_list: Vec<String>,
}

/// The observed state of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CareenMachinePoolStatus {
    // Core reads this one (external.IsReady), although the contract names `initialization`.
    /// The infrastructure is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// What Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// How many machines it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// How many of them run the wanted image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_date_replicas: Option<i32>,
    // The cluster autoscaler reads both from the object that `infrastructureRef` names.
    /// The least of each resource that a matching host has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, String>,
    /// The system of the hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_info: Option<NodeInfo>,
    /// The kind of its machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub infrastructure_machine_kind: Option<String>,
    /// The conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub conditions: Vec<Condition>,
}

/// What pools are made from, for a ClusterClass.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, JsonSchema,
)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "CareenMachinePoolTemplate",
    plural = "careenmachinepooltemplates",
    category = "cluster-api",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct CareenMachinePoolTemplateSpec {
    /// The template.
    pub template: PoolTemplate,
}

/// A pool without its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct PoolTemplate {
    /// The labels and annotations of each pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// What a person says of each pool.
    pub spec: PoolRequest,
}
