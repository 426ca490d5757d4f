//! The rig: OS images, a node in QEMU that has joined a cluster on this machine, and functions that
//! cause failures.
//!
//! Everything here runs real programs (QEMU, libostree, the kubelet); nothing is mocked.

pub mod adopted;
pub mod balancer;
pub mod boots;
pub mod counter;
pub mod csi;
pub mod daemonset;
pub mod emulator;
pub mod far;
pub mod fate;
pub mod guest;
pub mod images;
pub mod joined;
pub mod kubectl_careen;
pub mod lan;
pub mod lanes;
pub mod node;
pub mod overlay;
pub mod patience;
pub mod prepared_host;
pub mod progress;
pub mod qemu;
pub mod qmp;
pub mod repo_server;
mod rig;
pub mod terminal;
pub mod workload;
pub mod writes;

pub use rig::control_plane;
pub use rig::held::{HELD_BY_PROGRAMS, LOGIND_GOES_ON, LOGIND_HANGS, killed_in};
pub use rig::killed::{After, EACH_AND_BOTH, In};
pub use rig::story::{Before, UPGRADE};
pub use rig::told::expect_same;
pub use rig::traces::Traces;
pub use rig::{BOOT, Rig};
