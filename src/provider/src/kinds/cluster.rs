//! CareenCluster and its template.

use infrastructure::{Domain, Endpoint, EndpointFrom, Selector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{Initialization, TemplateMetadata};
use crate::catalogue::Condition;

/// What a person says of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRequest {
    /// The host whose address is the control plane's. It is kept for the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint_from: Option<EndpointFrom>,
    /// The failure domains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub failure_domains: Vec<Domain>,
    /// The hosts whose failure domains are the cluster's, if failureDomains names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain_selector: Option<Selector>,
}

/// A cluster on hosts that exist already.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, KubeSchema,
)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "CareenCluster",
    plural = "careenclusters",
    category = "cluster-api",
    namespaced,
    status = "CareenClusterStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name":"Endpoint","type":"string","jsonPath":".spec.controlPlaneEndpoint.host"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Available","type":"integer","jsonPath":".status.hosts.available"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(oldSelf.controlPlaneEndpoint) || oldSelf.controlPlaneEndpoint.host == '' || (has(self.controlPlaneEndpoint) && self.controlPlaneEndpoint == oldSelf.controlPlaneEndpoint)").message("controlPlaneEndpoint cannot be changed"),
)]
pub struct CareenClusterSpec {
    /// The address of the control plane: a virtual address, a load balancer, or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
    /// What a person says of it.
    #[serde(flatten)]
    pub request: ClusterRequest,
}

/// The observed state of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CareenClusterStatus {
    /// What Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// The failure domains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub failure_domains: Vec<Domain>,
    /// The hosts of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostCounts>,
    /// The conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub conditions: Vec<Condition>,
}

/// How many hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct HostCounts {
    /// Can be claimed.
    pub available: i64,
    /// Have a claim of this cluster.
    pub claimed: i64,
    /// Were given up, and have not come back.
    pub lost: i64,
}

/// What clusters are made from, for a ClusterClass.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, JsonSchema,
)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "CareenClusterTemplate",
    plural = "careenclustertemplates",
    category = "cluster-api",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct CareenClusterTemplateSpec {
    /// The template.
    pub template: ClusterTemplate,
}

/// A cluster without its name and its address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ClusterTemplate {
    /// The labels and annotations of each cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// What a person says of each cluster.
    pub spec: ClusterRequest,
}
