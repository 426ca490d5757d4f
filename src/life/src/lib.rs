//! The life of a prepared host, as a pure function: what the host does next with its claim.
//!
//! [`decide`] takes what the host remembers ([`Record`]) and what it observes ([`Observation`]). It
//! returns a [`Decision`]: the next record, which the caller must write first, and one act.
//! [`status`] says the same in the words of the CareenHost's status.
//!
//! Three rules hold in every state. The record names an effect before the effect begins. Bootstrap
//! data run at most once for a claim. Only the host's own claim, read with `wanted: Released`, is
//! an order to fence and to clean: a missing claim, an error and silence never are.
#![deny(clippy::wildcard_enum_match_arm)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

#[macro_use]
mod codes;

pub mod claim;
pub mod decide;
pub mod observe;
pub mod phase;
pub mod reason;
pub mod record;
pub mod status;
pub mod step;

pub use claim::{Claim, ClaimId, Release, Wanted};
pub use decide::{Decision, decide};
pub use observe::{
    Agent, Checks, Claimed, Clean, Data, Fence, Image, Join, Observation, Running, Sentinel,
};
pub use phase::Phase;
pub use reason::{Class, Reason};
pub use record::{Record, RecordRead, Stage, Stay};
pub use status::{Condition, Status, status};
pub use step::{Act, Step};
