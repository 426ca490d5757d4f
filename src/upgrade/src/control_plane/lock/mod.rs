//! The lock of a control plane: one Lease without an expiry, which names one upgrade of one node.
//!
//! It outlives reboots, power cuts and weeks. So nobody takes it over because time has passed: the
//! Node of its holder must be gone, or must say that this upgrade is over there.

mod answer;
mod claim;
mod holder;
mod news;

pub use answer::{Locking, Taken, Unlocking};
pub use claim::{Claim, Ending, claim, ending};
pub use holder::{Held, Holder, NoHolder};
pub use news::News;

/// The name of the Lease.
pub const LOCK: &str = "careen-control-plane";

/// The namespace of the Lease.
pub const LOCK_NAMESPACE: &str = "kube-system";
