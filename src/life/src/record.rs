//! The record: what a host keeps across reboots. One document, written before each effect and after
//! it. `careen-host` writes it to the physical root, which no cleaning and no image touches.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use upgrade::{BootId, Digest, Moment};

use crate::claim::{Claim, ClaimId};
use crate::reason::Reason;

/// The newest format that this code reads and writes.
pub const FORMAT: u32 = 1;

/// How many claims that have ended the record keeps. It drops the oldest first. A management
/// cluster that is restored from a backup can show an old claim again.
const ENDED: usize = 64;

/// What was read of the record: the default if there is none, the reason if it must not be used.
pub type RecordRead = Result<Record, Reason>;

/// The record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format of this record.
    pub format: u32,
    /// The oldest format whose readers may use it.
    pub min_reader: u32,
    /// Rises by one with each write.
    pub generation: u64,
    /// The claim that the host serves, or that it has served and is not clean of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stay: Option<Stay>,
    /// Claims that have ended on this host, the latest last. None of them begins again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<ClaimId>,
    /// Fields of a newer version, unknown to this one.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            format: FORMAT,
            min_reader: 1,
            generation: 0,
            stay: None,
            ended: Vec::new(),
            unknown: Map::new(),
        }
    }
}

impl Record {
    /// Whether this claim has ended here.
    #[must_use]
    pub fn has_ended(&self, id: &ClaimId) -> bool {
        self.ended.contains(id)
    }

    /// Notes that this claim has ended here.
    pub fn end(&mut self, id: ClaimId) {
        self.ended.retain(|known| *known != id);
        self.ended.push(id);
        let surplus = self.ended.len().saturating_sub(ENDED);
        self.ended.drain(..surplus);
    }
}

/// One claim on this host, from its acceptance until the host is clean of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// The claim as the host last read it. A release is never taken back.
    pub claim: Claim,
    /// How far the host has come with it.
    pub stage: Stage,
    /// Why the stay cannot go on. The host waits for its release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Reason>,
    /// How often the host was cleaned since its release.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cleanings: u32,
    /// Fields of a newer version, unknown to this one.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Stay {
    /// A claim that the host has just accepted.
    #[must_use]
    pub fn new(claim: Claim) -> Self {
        Self {
            claim,
            stage: Stage::Imaging,
            failed: None,
            cleanings: 0,
            unknown: Map::new(),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
const fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// How far a host has come with a claim. Each stage is on the disk before its effects begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub enum Stage {
    /// The host brings the claim's image to the disk and boots it.
    Imaging,
    /// The image runs. No bootstrap data were used.
    Ready,
    /// These bootstrap data run, or have run. They never run again.
    Bootstrapping {
        /// Their SHA-256.
        hash: Digest,
        /// When they began.
        begun: Moment,
    },
    /// The host has joined.
    Joined,
    /// The old kubelet is made unable to come back.
    Fencing,
    /// The old kubelet cannot come back.
    Fenced,
    /// What the cluster has left is removed. It can be repeated.
    Cleaning,
    /// It was removed in this boot. The next boot checks it.
    Cleaned {
        /// The boot.
        boot: BootId,
    },
    /// The host is fenced and waits for a person.
    Quarantined {
        /// Why.
        why: Reason,
    },
}
