//! What Careen's programs share as clients of an API server: the way there, the objects they read,
//! and the words for what went wrong.
#![deny(clippy::wildcard_enum_match_arm)]

mod error;
pub mod kubeconfig;
mod objects;

pub use error::chain;
pub use objects::{
    Condition, Node, NodeInfo, NodeSpec, NodeStatus, Pod, PodSpec, PodStatus, nodes, patch_by, pods,
};
