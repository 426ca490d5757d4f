//! When a phase was reached.

use serde::{Deserialize, Serialize};

/// When a phase was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The phase's name.
    pub phase: String,
    /// Seconds since 1970 by the node's clock.
    pub at: u64,
    /// Seconds of this phase spent waiting for the maintenance window or the end of a pause. A wait
    /// that has not ended is not included.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub waited: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
const fn is_none_of_it(seconds: &u64) -> bool {
    *seconds == 0
}
