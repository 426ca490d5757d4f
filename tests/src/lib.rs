//! The test support of the agent's tests: a real API server with etcd, Nodes as a kubelet registers
//! them, and a connection that a test can cut. A small machine with a power switch replaces systemd
//! and libostree.

pub mod agent_process;
pub mod busy;
pub mod caller;
pub mod cluster;
pub mod core_log;
pub mod count;
pub mod deaths;
pub mod decisions;
pub mod events;
pub mod fleet;
pub mod gate;
pub mod in_memory;
pub mod machine;
pub mod machines;
pub mod management;
pub mod measured;
pub mod metrics_proxy;
pub mod node;
pub mod pods;
pub mod provider_process;
pub mod provider_release;
pub mod proxy;
pub mod replica;
pub mod replicas;
pub mod requests;
pub mod rollout;
pub mod root;
pub mod scene;
pub mod token;
pub mod webhook;
pub mod wide;
pub mod wire;
pub mod working;
pub mod world;
