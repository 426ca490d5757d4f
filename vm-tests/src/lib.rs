//! The test rig as a library. The scenarios and the cluster tests in `tests/` use it.
//!
//! Everything here runs real programs (etcd, the API server, QEMU, libostree); nothing is mocked.
//! Do not use it in production: it generates keys at run time, etcd does not fsync, and every port
//! is on loopback.

pub mod adopted;
pub mod bench;
pub mod boots;
pub mod changed;
pub mod choice;
pub mod clock;
pub mod csi;
pub mod daemonset;
pub mod demo;
pub mod guest;
pub mod images;
pub mod joined;
pub mod kubectl_careen;
pub mod lanes;
pub mod node;
pub mod passed;
pub mod patience;
pub mod progress;
pub mod qemu;
pub mod qmp;
pub mod repo_server;
pub mod rig;
pub mod runner;
pub mod scenario;
pub mod scenarios;
pub mod shell;
pub mod soak;
pub mod terminal;
pub mod workload;
