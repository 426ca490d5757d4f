//! The id of a request: the same for the same wish, whoever computes it, before and after a restart.

use requests::ID_PREFIX;
use sha2::{Digest as _, Sha256};
use upgrade::{Target, UpgradeId};

use super::Machine;

/// Bytes of the hash that are kept. Told apart are the wishes for one Machine over its life: a handful.
const KEPT: usize = 8;

/// The id of asking this Machine to become `version` with `image`.
///
/// It names the Machine by UID, so that an answer copied from another Node, or given to a Machine of the same name that is gone,
/// is no answer; and the operator's [`crate::names::RETRY`], so that a new value asks again.
#[must_use]
pub fn upgrade_id(machine: &Machine, version: &str, image: &Target) -> Option<UpgradeId> {
    let mut hash = Sha256::new();
    let image = image.to_string();
    let retry = machine.retry.as_deref().unwrap_or_default();
    for part in [machine.uid.as_str(), version, &image, retry] {
        // Lengths keep ("ab", "c") and ("a", "bc") apart.
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let hex: String = hash.finalize()[..KEPT]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{ID_PREFIX}{hex}").parse().ok()
}
