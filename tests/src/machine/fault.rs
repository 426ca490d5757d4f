//! How a step deviates from its normal result.

use upgrade::Reason;

/// How a step deviates from its normal result.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It ends with this reason.
    Fails(Reason),
    /// It does not end by itself.
    Hangs,
    /// It reports progress a hundred times, and does not end by itself.
    Creeps,
    /// It waits until the test removes this fault, and then succeeds.
    Held,
}
