//! The infrastructure provider: hosts become machines of a Cluster. It is off without the flag
//! `--infrastructure`.
//!
//! [`infrastructure`] decides. This module reads what a decision needs, and carries it out through
//! [`crate::writes::provision`]. A decision to write is made of what the API server says, never of
//! a cache: only the list of hosts to choose from, and their Leases, come from watches.

mod accounts;
mod approve;
mod by_host;
mod cluster;
mod conditions;
mod count;
mod drain;
mod facts;
mod handover;
mod host;
mod id;
mod inventory;
mod machine;
mod pauses;
mod pool;
mod registration;
mod spans;
mod starts;
mod steady;
mod strays;
mod taken;
mod template;
mod unready;
mod watches;
mod wire;
mod work;

pub use inventory::Inventory;
pub use watches::start;
pub use work::Provision;
