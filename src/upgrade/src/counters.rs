//! How the requests of this node ended, counted over the node's life, because metrics must not
//! restart with each boot. For display only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::phase::{Class, Phase};
use crate::reason::Reason;

/// A count per reason code.
pub type ByReason = BTreeMap<String, u64>;

/// The counts. There are no more codes than variants of [`Reason`], so this stays small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Ended in the new system.
    pub upgraded: u64,
    /// Ended in the old system after at least one trial boot.
    pub fell_back: ByReason,
    /// Ended in the old system before any trial boot.
    pub failed: ByReason,
    /// Ended halted: a person must act.
    pub halted: ByReason,
    /// Refused before anything changed.
    pub refused: ByReason,
    /// Trial boots of upgrades that have ended.
    pub trial_boots: u64,
    /// Counts of a newer version, unknown to this one.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Tally {
    /// Whether nothing is counted yet.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// Counts an upgrade that has ended in this phase, after so many trial boots.
    pub(crate) fn count(&mut self, phase: &Phase, tries: u32) {
        self.trial_boots = self.trial_boots.saturating_add(tries.into());
        match phase.class() {
            Class::Upgraded => self.upgraded = self.upgraded.saturating_add(1),
            Class::Failed { reason } if tries > 0 => add(&mut self.fell_back, reason),
            Class::Failed { reason } => add(&mut self.failed, reason),
            Class::Halted { reason } => add(&mut self.halted, reason),
            // Only upgrades that have ended are counted.
            Class::Preparing | Class::Trying { .. } | Class::Blessed | Class::Reverting { .. } => {}
        }
    }

    /// Counts a request that was refused.
    pub(crate) fn count_refused(&mut self, reason: &Reason) {
        add(&mut self.refused, reason);
    }
}

fn add(to: &mut ByReason, reason: &Reason) {
    let count = to.entry(reason.code()).or_default();
    *count = count.saturating_add(1);
}
