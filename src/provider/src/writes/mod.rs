//! The writes: to a Node (only in `node`), the mark on a Machine, conditions on an InfraMachine, and
//! the writes of the infrastructure provider (only in `provision`). This module makes no decisions.

mod error;
mod extension;
pub mod infra;
mod machine;
mod node;
pub mod provision;

pub use error::{WriteError, limited};
pub use extension::{namespace as namespace_of_extension, settings as settings_of_extension};
pub use machine::{mark, unask};
pub use node::{cordon, mark as mark_node, write as write_node};
