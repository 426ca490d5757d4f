//! The decision: facts in, what to write and what to say out. No clock, network or log; both roads share it.

mod answer;
mod decide;
mod facts;
mod guard;
mod leave;
mod plan;
mod verify;
mod why;

pub use answer::{Answer, Decision, Mark, MarkWrite, NodeWrite, Progress, clean};
pub use decide::decide;
pub use facts::{
    ControlPlane, Facts, Machine, NodeFacts, NodeView, Policy, Road, StaticPod, Told, Turns, Wanted,
};
pub use guard::{skew, step};
pub use plan::upgrade_id;
pub use why::Why;
