//! Which member leads etcd while this node is away.

mod answer;
mod successor;

pub use answer::Yielding;
pub use successor::{Stay, successor};
