//! Members of etcd on loopback, with TLS as kubeadm sets it up, and a node's files around one.
#![allow(clippy::unwrap_used, dead_code, unused_imports)]

mod certificates;
mod cluster;
mod node;

pub use certificates::Authority;
pub use cluster::{Cluster, leak, within};
pub use node::Root;
