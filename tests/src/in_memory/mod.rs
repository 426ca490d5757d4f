//! Cluster API's own in-memory infrastructure provider. Its hosts are records, and each Cluster has
//! its own API server that keeps its objects in a map.
//!
//! Everything in Cluster API itself is real here, and nothing is the rig's. The InfraMachines
//! differ from the rig's. Each Cluster has another API server, and a kubeconfig and etcd members
//! that the control plane manager itself manages. The real agent cannot run on such a host. That
//! API server supports no subresources (`nodes/status`, `pods/eviction`) and no JSON patch. It also
//! supports no field selector on Nodes, no Events and no reviews. The tests therefore play the
//! agents; `fleet` has the real ones.

mod agents;
mod boots;
mod cluster;
pub mod health;
mod provider;
mod upgrade;

pub use agents::Agents;
pub use cluster::create;
pub use provider::InMemory;
