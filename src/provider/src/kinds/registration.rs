//! HostRegistration.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How hosts come into the namespace. Its ServiceAccount, NAMESPACE.NAME in careen-registrations, can
/// create CareenHosts, and reads nothing but the token for a host whose secret name it knows.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, KubeSchema,
)]
#[kube(
    group = "careen.dev",
    version = "v1alpha1",
    kind = "HostRegistration",
    plural = "hostregistrations",
    namespaced,
    status = "HostRegistrationStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Domain","type":"string","jsonPath":".spec.failureDomain"}"#,
    printcolumn = r#"{"name":"Registered","type":"integer","jsonPath":".status.registered"}"#,
    printcolumn = r#"{"name":"Approved","type":"integer","jsonPath":".status.approved"}"#,
    printcolumn = r#"{"name":"Max","type":"integer","jsonPath":".spec.maxHosts"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct HostRegistrationSpec {
    /// How many hosts it approves at most.
    #[serde(default = "twenty")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_hosts: i32,
    /// Its hosts are approved without a person.
    #[serde(default)]
    pub auto_approve: bool,
    /// The labels of its hosts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    pub labels: BTreeMap<String, String>,
    /// The failure domain of its hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// How the names of its hosts begin.
    #[serde(default)]
    #[schemars(length(max = 40))]
    pub name_prefix: String,
}

const fn twenty() -> i32 {
    20
}

/// What came of a registration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct HostRegistrationStatus {
    /// How many hosts came.
    #[serde(default)]
    pub registered: i32,
    /// How many were approved.
    #[serde(default)]
    pub approved: i32,
}
