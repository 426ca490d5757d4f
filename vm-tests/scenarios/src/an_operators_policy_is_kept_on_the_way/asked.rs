//! What the policy and the request ask of this upgrade.

use rig::node::View;

use super::super::prelude::*;

/// The id of the request that completes.
pub const ID: &str = "kept";

/// The policy's time for load balancers, in seconds.
pub const LOAD_BALANCERS: u64 = 30;
/// The requester's soak, in seconds. It is longer than the policy's, and the longer one counts.
pub const SOAK: u64 = 60;
/// The policy's soak, in seconds.
pub const SHORTER_SOAK: u64 = 20;
/// The most seconds by which a change may appear late after the one before it.
pub const LATE: u64 = 15;

/// Namespace and name of the pod that leaves last, by the policy's order.
pub const LAST: (&str, &str) = ("databases", "ledger");
/// Namespace and name of the pod that terminates slowly.
pub const SLOW: (&str, &str) = ("default", "slow");
/// How many seconds that pod takes.
pub const GRACE: u64 = 30;

/// Checks the condition on the Node.
pub fn expect_condition(view: &View, wanted: &str) -> Result<()> {
    let found = view.condition.as_deref();
    ensure!(
        found == Some(wanted),
        "the condition is {found:?}, not {wanted}"
    );
    Ok(())
}
