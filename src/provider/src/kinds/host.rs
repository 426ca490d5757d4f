//! CareenHost.

use std::collections::BTreeMap;

use infrastructure::{Claim, Phase};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use upgrade::sanitize::Clean;

use super::machine::Address;

/// The longest string of a status, in bytes. The schema allows a message of 4096 characters.
const STRING: usize = 16 * 1024;

/// A prepared host. Its spec is Careen's and an operator's, its status is the host's own word.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, KubeSchema,
)]
#[kube(
    group = "careen.dev",
    version = "v1alpha1",
    kind = "CareenHost",
    plural = "careenhosts",
    category = "cluster-api",
    namespaced,
    status = "CareenHostStatus",
    derive = "Default",
    derive = "PartialEq",
    validation = Rule::new("size(self.metadata.name) <= 63").message("name must have at most 63 characters"),
    validation = Rule::new("!has(oldSelf.spec.claim) || has(self.spec.claim) || (has(self.status) && has(self.status.observedClaim) && (self.status.observedClaim == oldSelf.spec.claim.id ? self.status.phase == 'Available' : self.status.phase in ['Imaging', 'Joining', 'Joined', 'Fencing', 'Cleaning', 'Failed', 'Quarantined']))").message("claim can be removed only when the host is Available after it, or serves another claim: set wanted to Released"),
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Cluster","type":"string","jsonPath":".spec.claim.cluster"}"#,
    printcolumn = r#"{"name":"Machine","type":"string","jsonPath":".spec.claim.machine"}"#,
    printcolumn = r#"{"name":"Domain","type":"string","jsonPath":".spec.failureDomain"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.imageVersion"}"#,
    printcolumn = r#"{"name":"Approved","type":"boolean","jsonPath":".spec.approved"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(oldSelf.claim) || !has(self.claim) || (self.claim.id == oldSelf.claim.id && self.claim.machine == oldSelf.claim.machine && self.claim.cluster == oldSelf.claim.cluster && self.claim.providerID == oldSelf.claim.providerID)").message("claim cannot become another's"),
    validation = Rule::new("!has(oldSelf.claim) || !has(self.claim) || oldSelf.claim.wanted != 'Released' || self.claim.wanted == 'Released'").message("claim.wanted cannot go back to Joined: the host may be half clean"),
    validation = Rule::new("!has(oldSelf.claim) || !has(self.claim) || self.claim.wanted != 'Released' || has(self.claim.bootstrapHash) == has(oldSelf.claim.bootstrapHash)").message("claim.bootstrapHash cannot be set when the host is released"),
    validation = Rule::new("self.registration == oldSelf.registration").message("registration cannot be changed"),
)]
pub struct CareenHostSpec {
    /// The HostRegistration that it came with. The host writes it when it registers.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    )]
    pub registration: String,
    /// The name of the Secret in which the host looks for a token when it has none that is good: 32
    /// random hexadecimal digits, which the host makes up. The Secret is there until the host takes
    /// its first token, and while the host is not heard for 12 h. Who does not know the name cannot
    /// read the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9a-f]{32}$"))]
    pub handover: Option<String>,
    /// A person, or its HostRegistration, lets it in.
    #[serde(default)]
    pub approved: bool,
    /// Its failure domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
    /// It is never chosen. A machine that has it keeps it.
    #[serde(default)]
    pub cordoned: bool,
    /// Only the control plane of this Cluster may have it. Careen writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub reserved_for: Option<String>,
    /// The claim on it. Careen writes it. It may come and it may go, but it never becomes another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// What a host says of itself.
// A captured host writes it, so its strings are cleaned while they are read: conditions, Events and
// logs repeat them on the terminals of operators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct CareenHostStatus {
    /// Its phase.
    pub phase: Phase,
    /// What it does within the phase.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub step: String,
    /// Why it does not continue.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub reason: String,
    /// The sentence of the reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub message: String,
    /// The claim that the phase belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub observed_claim: Option<String>,
    /// Its host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub hostname: String,
    /// Its machine id.
    #[serde(rename = "machineID", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub machine_id: String,
    /// The id of its boot.
    #[serde(rename = "bootID", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub boot_id: String,
    /// Its addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub addresses: Vec<Address>,
    /// For example amd64.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 32))]
    pub architecture: String,
    /// What it has, such as cpu and memory.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = {"type": "string", "maxLength": 32}))]
    pub capacity: BTreeMap<String, String>,
    /// The image that it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 512))]
    pub image: String,
    /// The version of that image.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub image_version: String,
    /// `ok`, or why its boot loader cannot change the image.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub loader: String,
    /// Its careen-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub conditions: Vec<HostCondition>,
}

impl<'de> Deserialize<'de> for CareenHostStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(Clean::new(deserializer, STRING))
    }
}

impl Serialize for CareenHostStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// A condition of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HostCondition {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[schemars(length(max = 16))]
    pub status: String,
    /// A stable word.
    #[schemars(length(max = 64))]
    pub reason: String,
    /// A sentence.
    #[schemars(length(max = 4096))]
    pub message: String,
    /// When the status changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub last_transition_time: Option<String>,
}

/// The careen-agent of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Agent {
    /// Its version.
    #[schemars(length(max = 64))]
    pub version: String,
}
