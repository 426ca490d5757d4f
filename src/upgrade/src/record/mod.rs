//! What is remembered across reboots: one document, written before each effect and after it.
//!
//! How it gets to the disk (two generations, checksum, fsync) is `host::journal`'s business. The OLD system reads what a
//! trial wrote, so unknown fields are kept and the format is raised only once a new system is blessed.

mod attempt;
mod custody;
mod retry;
mod upgrade;
mod wire;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::history::Past;
use crate::id::{Digest, UpgradeId};
use crate::observe::Asked;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::tally::Tally;
use crate::target::RawRequest;

pub use attempt::{ApiSeen, Attempt, Kubeadm, NewDefault, Redo, Rehearsal};
pub use custody::{Custody, Taken};
pub use retry::{Retried, Retry};
pub use upgrade::Upgrade;

/// The newest format that this code reads and writes.
pub const FORMAT: u32 = 1;

/// How many bad images are remembered; older ones go first.
const BAD_IMAGES: usize = 32;

/// The record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The format it is written in.
    pub format: u32,
    /// The oldest format whose readers may act on it.
    pub min_reader: u32,
    /// Rises by one with each write.
    pub generation: u64,
    /// The upgrade under way, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// The last request, when it was refused before it became an upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// The request that is answered already, while its annotations still stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<RawRequest>,
    /// How many requests were answered on this node.
    #[serde(default)]
    pub answered: u64,
    /// Images that failed here.
    #[serde(default)]
    pub bad: Vec<BadImage>,
    /// How they ended.
    #[serde(default, skip_serializing_if = "Tally::is_blank")]
    pub tally: Tally,
    /// The last of them, the latest first: for display, and for how many minutes of the hours the next drain wants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
    /// What a newer version wrote and this one does not know.
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

/// A request that was refused before anything was touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The requester's id, as far as it can be repeated.
    pub id: Option<UpgradeId>,
    /// Why.
    pub reason: Reason,
}

/// An image that failed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadImage {
    /// Its commit.
    pub digest: Digest,
    /// The code of the reason.
    pub because: String,
    /// The request that it failed for.
    pub id: UpgradeId,
    /// Its request was withdrawn since, so the next one is a person asking again.
    #[serde(default)]
    pub asked_again: bool,
}

/// What a policy asks of signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signatures {
    /// Images need none.
    pub unsigned: bool,
    /// The remote whose keyring must have signed the commit in a container image; empty for the
    /// container policy.
    pub signed_by: String,
}

impl From<&Policy> for Signatures {
    fn from(policy: &Policy) -> Self {
        Self {
            unsigned: policy.unsigned,
            signed_by: policy.registry.signed_by.clone(),
        }
    }
}

/// When a phase was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The phase's name.
    pub phase: String,
    /// Seconds since 1970 by the node's clock.
    pub at: u64,
    /// Seconds in it that were spent waiting for the operator's hours or the end of a pause, without those of a wait that still lasts.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub waited: u64,
}

impl Record {
    /// The request that stands and is not answered yet.
    #[must_use]
    pub fn unanswered<'a>(&self, asked: &'a Asked) -> Option<&'a RawRequest> {
        match asked {
            Asked::This(raw) => Some(raw).filter(|raw| self.spent.as_ref() != Some(*raw)),
            Asked::Unknown | Asked::Nothing => None,
        }
    }

    /// Remembers an image that failed, once.
    pub fn remember_bad(&mut self, bad: BadImage) {
        self.bad.retain(|known| known.digest != bad.digest);
        self.bad.push(bad);
        let surplus = self.bad.len().saturating_sub(BAD_IMAGES);
        self.bad.drain(..surplus);
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
const fn is_none_of_it(seconds: &u64) -> bool {
    *seconds == 0
}

#[cfg(test)]
mod tests;
