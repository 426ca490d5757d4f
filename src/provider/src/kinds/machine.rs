//! CareenMachine and its template.

use std::collections::BTreeMap;

use infrastructure::{HostRef, Release, Selector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{Initialization, TemplateMetadata};
use crate::catalogue::Condition;

/// What a machine asks of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineRequest {
    /// The image that the host runs: ostree:REMOTE:REF@COMMIT or docker://HOST/NAME@sha256:DIGEST.
    /// Without it the ImageCatalogue names the image of the Machine's version. It can be changed,
    /// and is changed in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub os_image: Option<String>,
    /// The labels that the host must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<Selector>,
    /// This host or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub host_name: Option<String>,
    /// What the host must have at least, such as cpu: "8" and memory: 32Gi.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16, "additionalProperties" = {"type": "string", "maxLength": 32}))]
    pub minimum: BTreeMap<String, String>,
    /// What the host does when it is released.
    #[serde(default)]
    pub release: Release,
    /// The seconds from the choice of the host to the node.
    #[serde(default = "join_seconds")]
    #[schemars(range(min = 60, max = 86400))]
    pub join_seconds: i64,
}

const fn join_seconds() -> i64 {
    1200
}

/// A machine of a cluster on a host that exists already.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, KubeSchema,
)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "CareenMachine",
    plural = "careenmachines",
    category = "cluster-api",
    namespaced,
    status = "CareenMachineStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name":"Machine","type":"string","jsonPath":".metadata.ownerReferences[?(@.kind=='Machine')].name"}"#,
    printcolumn = r#"{"name":"Host","type":"string","jsonPath":".spec.hostRef.name"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.host.phase"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].reason"}"#,
    printcolumn = r#"{"name":"ProviderID","type":"string","priority":1,"jsonPath":".spec.providerID"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.hostSelector) == has(oldSelf.hostSelector) && (!has(self.hostSelector) || self.hostSelector == oldSelf.hostSelector)").message("hostSelector cannot be changed: create another template"),
    validation = Rule::new("has(self.hostName) == has(oldSelf.hostName) && (!has(self.hostName) || self.hostName == oldSelf.hostName)").message("hostName cannot be changed: create another template"),
    validation = Rule::new("has(self.minimum) == has(oldSelf.minimum) && (!has(self.minimum) || self.minimum == oldSelf.minimum)").message("minimum cannot be changed: create another template"),
    validation = Rule::new("self.release == oldSelf.release").message("release cannot be changed: create another template"),
    validation = Rule::new("!has(oldSelf.hostRef) || !has(self.hostRef) || (self.hostRef.name == oldSelf.hostRef.name && self.hostRef.claim == oldSelf.hostRef.claim)").message("hostRef cannot become another host's: remove it first"),
    validation = Rule::new("!has(oldSelf.hostRef) || !has(oldSelf.hostRef.committed) || !oldSelf.hostRef.committed || (has(self.hostRef) && self.hostRef == oldSelf.hostRef)").message("hostRef cannot be changed any more: its host may have the bootstrap data"),
    validation = Rule::new("!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)").message("providerID cannot be changed"),
)]
pub struct CareenMachineSpec {
    /// What the machine asks of its host.
    #[serde(flatten)]
    pub request: MachineRequest,
    /// Its host. Careen writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ref: Option<HostRef>,
    /// The provider id of its Node. Careen writes it.
    #[serde(
        default,
        rename = "providerID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(min = 1, max = 512))]
    pub provider_id: Option<String>,
}

/// The observed state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CareenMachineStatus {
    /// What Cluster API waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// The addresses of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub addresses: Vec<Address>,
    /// The failure domain of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// The host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ShownHost>,
    /// The version that the node runs, after an upgrade in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub conditions: Vec<Condition>,
}

/// An address of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Address {
    /// Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 32))]
    pub kind: String,
    /// The address.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
}

/// What a machine shows of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownHost {
    /// Its name.
    pub name: String,
    /// Its phase.
    pub phase: infrastructure::Phase,
    /// The image that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// What machines are made from.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, JsonSchema,
)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "CareenMachineTemplate",
    plural = "careenmachinetemplates",
    category = "cluster-api",
    namespaced,
    status = "CareenMachineTemplateStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct CareenMachineTemplateSpec {
    /// The template.
    pub template: MachineTemplate,
}

/// A machine without its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct MachineTemplate {
    /// The labels and annotations of each machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// What each machine asks of its host.
    pub spec: MachineRequest,
}

/// What the hosts of a template have. The autoscaler reads it when there is no machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CareenMachineTemplateStatus {
    /// The least of each resource that a matching host has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, String>,
    /// The system of the hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_info: Option<NodeInfo>,
}

/// The system of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// amd64, arm64, s390x or ppc64le.
    pub architecture: String,
    /// linux.
    pub operating_system: String,
}
