//! A dry run: what an upgrade would do to a node. [`crate::names::PLAN`] asks, and
//! [`crate::names::PLAN_RESULT`] answers.
//!
//! The answer repeats the question verbatim, so that nobody mistakes an older answer for it. When
//! the question is removed, the agent removes the answer.

mod answer;
mod control_plane;
mod found;
mod look;
mod question;
mod response;
mod result;

pub use answer::{Case, answer, answers, refusal};
pub use found::{Found, Rehearsed};
pub use look::Look;
pub use question::Question;
pub use response::{Response, respond};
pub use result::{BYTES, Blocked, Change, Failure, Package, PlaceRoom, Plan};
