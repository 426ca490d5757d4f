//! What Careen's programs share as clients of an API server: the connection, the objects that they
//! read, and the messages for errors.
#![deny(clippy::wildcard_enum_match_arm)]

mod error;
mod in_time;
pub mod kubeconfig;
mod node_pods;
mod objects;

pub use error::chain;
pub use in_time::{NoAnswer, in_time};
pub use node_pods::{MIRROR, belongs_to_node, controller, may_return, tolerates_cordon};
pub use objects::{
    Condition, Node, NodeInfo, NodeSpec, NodeStatus, Pod, PodSpec, PodStatus, nodes, patch_by, pods,
};
