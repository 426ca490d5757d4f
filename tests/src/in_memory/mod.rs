//! Cluster API's own in-memory infrastructure provider: hosts that are records, and for each Cluster an API server of its own that
//! holds its objects in a map.
//!
//! Everything that Cluster API itself does is real here, and nothing of it is the rig's: other InfraMachines than the rig's, another API
//! server for each Cluster, a kubeconfig and etcd members that the control plane manager sees after itself. What cannot be had is the
//! real agent on a host: that API server knows no subresources (`nodes/status`, `pods/eviction`), no JSON patch, no field selector on
//! Nodes, no Events, no reviews. So the agents are played; `fleet` has the real ones.

mod agents;
mod cluster;
pub mod health;
mod provider;
mod upgrade;

pub use agents::Agents;
pub use cluster::create;
pub use provider::InMemory;
