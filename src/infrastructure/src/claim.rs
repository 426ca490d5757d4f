//! The claim on a host, and the other half of it in the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the host should be a node of the claim's cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Wanted {
    /// Join the cluster, and stay.
    #[default]
    Joined,
    /// Fence, clean, and become available. Only this word is an order to leave.
    Released,
}

/// What a host does when it is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Release {
    /// Clean what the cluster left, reboot, and become available.
    #[default]
    Clean,
    /// Fence, and leave the rest to a person.
    Keep,
}

/// A claim on a host. It may come and it may go, but it never becomes another's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// 16 random hexadecimal digits. Neither a name, which comes again, nor a UID, which `clusterctl
    /// move` changes.
    #[schemars(regex(pattern = r"^[0-9a-f]{16}$"))]
    pub id: String,
    /// The CareenMachine, in the namespace of the host.
    #[schemars(length(max = 253))]
    pub machine: String,
    /// The Cluster, in the namespace of the host.
    #[schemars(length(max = 63))]
    pub cluster: String,
    /// The image that the host runs before it joins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub image: Option<String>,
    /// The Kubernetes version of the image, as v1.36.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// The provider id that the kubelet registers with.
    #[serde(rename = "providerID")]
    #[schemars(length(max = 512))]
    pub provider_id: String,
    /// Whether the host should be a node.
    #[serde(default)]
    pub wanted: Wanted,
    /// What the host does when it is released.
    #[serde(default)]
    pub release: Release,
    /// The SHA-256 of the bootstrap data in the host's Secret. The host uses no other data, and
    /// none before this is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub bootstrap_hash: Option<String>,
    /// How long the bootstrap data may run.
    #[serde(default = "join_seconds")]
    #[schemars(range(min = 60, max = 86400))]
    pub join_seconds: i64,
    /// The machine was given up without an answer of the host. The host cleans itself when it
    /// returns, and is cordoned then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// The default of the time for a join.
pub(crate) const fn join_seconds() -> i64 {
    1200
}

/// The host of a machine, and the id of the claim on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostRef {
    /// The CareenHost, in the namespace of the machine.
    #[schemars(length(max = 63))]
    pub name: String,
    /// The id of the claim.
    #[schemars(regex(pattern = r"^[0-9a-f]{16}$"))]
    pub claim: String,
    /// When the host was chosen, in seconds since 1970.
    pub since: i64,
    /// The host may have got the bootstrap data. From then on this never changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub committed: bool,
}

/// The provider id of a claim. It does not repeat when a host is used again, and stays the same
/// when the objects move to another management cluster.
#[must_use]
pub fn provider_id(namespace: &str, host: &str, claim: &str) -> String {
    format!("careen://{namespace}/{host}/{claim}")
}
