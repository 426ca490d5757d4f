//! The claim: what a CareenHost says of the Machine that it serves. The provider writes it, the
//! host reads it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use upgrade::{Digest, Version};

/// The random id of a claim: 16 lower-case hexadecimal digits. It outlives `clusterctl move`, and
/// no two claims have the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClaimId(String);

/// An id that no claim can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the claim id is {0:?}, which is not valid. Use 16 lower-case hexadecimal digits")]
pub struct NotAnId(String);

/// How many digits an id has.
const DIGITS: usize = 16;

impl ClaimId {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight digits, for names of units and requests.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..8]
    }
}

impl FromStr for ClaimId {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if text.len() == DIGITS && text.bytes().all(is_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAnId(text.chars().take(64).collect()))
        }
    }
}

impl TryFrom<String> for ClaimId {
    type Error = NotAnId;
    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl From<ClaimId> for String {
    fn from(id: ClaimId) -> Self {
        id.0
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether the claim wants the host in its cluster, or given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// The host joins and stays.
    Joined,
    /// The host fences itself and cleans itself.
    Released,
}

/// What happens to a host that is given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Release {
    /// It cleans itself and is available again.
    #[default]
    Clean,
    /// It is fenced, and a person decides.
    Keep,
}

/// How long a join may take by default, in seconds.
const JOIN_SECONDS: u64 = 1200;

const fn join_seconds() -> u64 {
    JOIN_SECONDS
}

/// One claim, as in `spec.claim` of a CareenHost. Fields that the host does not need are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Its id.
    pub id: ClaimId,
    /// The name of the Machine.
    pub machine: String,
    /// The name of the cluster.
    pub cluster: String,
    /// The image that the host must run before it joins. `None`: any image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The Kubernetes version of that image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// What the kubelet registers as the Node's `providerID`.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// Whether the host is to join or to be given back.
    pub wanted: Wanted,
    /// What happens when it is given back.
    #[serde(default)]
    pub release: Release,
    /// The SHA-256 of the bootstrap data. Data with another one are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_hash: Option<Digest>,
    /// How long the join may take from the moment in which the bootstrap data begin to run.
    #[serde(default = "join_seconds")]
    pub join_seconds: u64,
    /// The Machine was given up without an answer of this host, which is cordoned for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}
