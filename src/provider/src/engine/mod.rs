//! The decision: facts in; writes and an answer out. It uses no clock, network or log. The hooks
//! and the annotation flow share it.

mod answer;
mod ask;
mod decide;
mod facts;
mod guard;
mod hurt;
mod kubelet;
mod leave;
mod leftover;
mod machine;
mod mark;
mod other;
mod plan;
mod pursue;
mod ready;
mod server;
mod time;
mod wait;
mod why;

pub use answer::{Answer, Decision, Mark, MarkWrite, NodeWrite, Progress, clean};
pub use decide::decide;
pub use facts::{ControlPlane, Desired, Facts, Instruction, NodeView, Others, Policy, Road, Turns};
pub use guard::{reach, skew, step};
pub use kubelet::Kubelet;
pub use leftover::leftover;
pub use machine::Machine;
pub use other::Other;
pub use plan::upgrade_id;
pub use server::Server;
pub use why::Why;
