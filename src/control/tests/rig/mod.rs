//! Members of etcd on loopback, with TLS as kubeadm sets it up, and a node's files around one.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, unused_imports)]

mod certificates;
mod cluster;
mod node;
mod objects;
mod program;

pub use certificates::Authority;
pub use cluster::{Cluster, within};
pub use node::Root;
pub use objects::{mirror, mirror_named, node, report, worker};
pub use program::{answer, codes, command, shown};
