//! The record: what Careen keeps across reboots. One document, written before and after each
//! effect.
//!
//! `host::record` writes it to the disk (two generations, checksum, fsync). The old system reads
//! what a trial wrote. So unknown fields are kept, and the format rises only when a new system is
//! blessed.

mod attempt;
mod control;
mod custody;
mod reached;
mod retry;
mod signatures;
mod upgrade;
mod wire;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::counters::Tally;
use crate::history::Past;
use crate::id::{Digest, UpgradeId};
use crate::observe::Asked;
use crate::reason::Reason;
use crate::target::RawRequest;

pub use attempt::{ApiSeen, Attempt, Kubeadm, NewDefault, Redo, Rehearsal};
pub use control::{Control, Hurt, Lock, Look, Raise, Snapshot, Waiting};
pub use custody::{Custody, Taken};
pub use reached::Reached;
pub use retry::{Retried, Retry};
pub use signatures::Signatures;
pub use upgrade::Upgrade;

/// The newest format that this code reads and writes.
pub const FORMAT: u32 = 1;

/// How many bad images the record keeps. It drops the oldest first.
const BAD_IMAGES: usize = 32;

/// The record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format of this record.
    pub format: u32,
    /// The oldest format whose readers may use it.
    pub min_reader: u32,
    /// Rises by one with each write.
    pub generation: u64,
    /// The upgrade under way, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// The last request, if it was refused before it became an upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// The request that is already answered, while its annotations are still on the Node; as
    /// [`RawRequest::noted`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<RawRequest>,
    /// How many requests were answered on this node.
    #[serde(default)]
    pub answered: u64,
    /// Images that failed on this node.
    #[serde(default)]
    pub bad: Vec<BadImage>,
    /// Counts of how upgrades ended.
    #[serde(default, skip_serializing_if = "Tally::is_blank")]
    pub tally: Tally,
    /// The last upgrades, the latest first. Used for display, and to estimate how many minutes of
    /// the maintenance window the next drain needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
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
            upgrade: None,
            refused: None,
            spent: None,
            answered: 0,
            bad: Vec::new(),
            tally: Tally::default(),
            past: Vec::new(),
            unknown: Map::new(),
        }
    }
}

/// What was read of the record: `Ok(Record::default())` where there is none, and the reason to halt
/// where it cannot be read.
pub type RecordRead = Result<Record, Reason>;

/// A request that was refused before anything was touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The requester's id, if it is valid enough to repeat.
    pub id: Option<UpgradeId>,
    /// Why it was refused.
    pub reason: Reason,
}

/// An image that failed on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadImage {
    /// Its commit.
    pub digest: Digest,
    /// The code of the reason.
    pub because: String,
    /// The request that it failed for.
    pub id: UpgradeId,
    /// Its request was withdrawn since, so the next request for it counts as a new attempt by a
    /// person.
    #[serde(default)]
    pub asked_again: bool,
}

impl Record {
    /// The request on the Node that is not answered yet.
    #[must_use]
    pub fn unanswered<'a>(&self, asked: &'a Asked) -> Option<&'a RawRequest> {
        match asked {
            Asked::This(raw) => Some(raw).filter(|raw| !self.has_answered(raw)),
            Asked::Unknown | Asked::Nothing => None,
        }
    }

    /// An earlier version noted a request of any length as it was.
    fn has_answered(&self, raw: &RawRequest) -> bool {
        let spent = self.spent.as_ref();
        spent.is_some_and(|spent| spent == raw || *spent == raw.noted())
    }

    /// Adds an image that failed; an image is listed only once.
    pub fn remember_bad(&mut self, bad: BadImage) {
        self.bad.retain(|known| known.digest != bad.digest);
        self.bad.push(bad);
        let surplus = self.bad.len().saturating_sub(BAD_IMAGES);
        self.bad.drain(..surplus);
    }
}

#[cfg(test)]
mod tests;
