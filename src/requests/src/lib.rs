//! The rules for requests to a Node: what to write, what its agent replies, and whether the reply
//! belongs to the request. `kubectl careen` and careen-provider share them.
//!
//! Everything here is pure. The requesters read and write the Node themselves.

#![deny(clippy::wildcard_enum_match_arm)]

mod ended;
mod id;
mod node;
mod patch;
mod phase;
mod reply;
mod verify;

pub use ended::{EndedRequest, Outcome, Took};
pub use id::{ID_PREFIX, is_ours};
pub use node::NodeFacts;
pub use patch::onto;
pub use phase::PhaseName;
pub use reply::{Limits, Reply};
pub use verify::{StaticPod, verify};
