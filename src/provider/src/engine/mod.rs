//! The decision: facts in, what to write and what to say out. No clock, network or log; both roads share it.

mod answer;
mod ask;
mod decide;
mod facts;
mod guard;
mod leave;
mod leftover;
mod machine;
mod mark;
mod plan;
mod pursue;
mod time;
mod why;

pub use answer::{Answer, Decision, Mark, MarkWrite, NodeWrite, Progress, clean};
pub use decide::decide;
pub use facts::{
    ControlPlane, Facts, Kubelet, NodeView, Other, Others, Policy, Road, Told, Turns, Wanted,
};
pub use guard::{reach, skew, step};
pub use leftover::leftover;
pub use machine::Machine;
pub use plan::upgrade_id;
pub use why::Why;
