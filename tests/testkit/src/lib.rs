//! What the tests of a cluster share: a control plane, Cluster API's managers, a registry, and the
//! cache of what they run.
//!
//! Everything here runs real programs (etcd, the API server, the managers); nothing is mocked. Do
//! not use it in production: it generates keys at run time, etcd does not fsync, and every port is
//! on loopback.

pub mod cache;
pub mod cargo;
pub mod cluster_api;
pub mod control_plane;
pub mod debian;
pub mod etcdutl;
pub mod process;
pub mod programs;
pub mod registry;
pub mod script;
pub mod secure_registry;
pub mod ticker;
