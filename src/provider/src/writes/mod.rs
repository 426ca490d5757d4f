//! The writes: to a Node (only here), the mark on a Machine, and conditions on an InfraMachine. It
//! makes no decisions.

mod error;
mod extension;
pub mod infra;
mod machine;
mod node;

pub use error::{WriteError, limited};
pub use extension::settings as settings_of_extension;
pub use machine::{mark, unask};
pub use node::write as write_node;
