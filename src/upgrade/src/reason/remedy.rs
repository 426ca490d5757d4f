//! What to do about a reason.

use serde::{Deserialize, Serialize};

/// What to do about a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disposition {
    /// Retry the step after a pause, a bounded number of times.
    Retry,
    /// End this request; the old system stays or comes back.
    RollBack,
    /// A person must act.
    Halt,
}
