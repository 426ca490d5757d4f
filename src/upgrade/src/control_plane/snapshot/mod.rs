//! A snapshot of etcd: whether this member may give one, which older ones go, and what is said.

mod answer;
mod fitness;
mod surplus;

pub use answer::{Saved, Saving};
pub use fitness::{Refusal, fitness};
pub use surplus::{Kept, oldest_kept, surplus};
