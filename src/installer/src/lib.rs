//! The program in the DaemonSet's pod. It installs the agent on the host and watches it there. The
//! agent itself runs as a service of the host's systemd, with the kubelet's credential, and does
//! not depend on the pod.
//!
//! Every few seconds it [`look`]s at everything, [`decide()`]s purely, does one [`act`], and
//! reports its [`health`]. It keeps no state between two turns, so after a pod dies in the middle
//! of one, the next pod continues. Only [`remove`] removes anything.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod act;
pub mod bus;
pub mod decide;
pub mod failed;
pub mod follow;
pub mod health;
pub mod lock;
pub mod look;
pub mod node;
pub mod remove;
mod room;
pub mod systemd;
pub mod turns;
pub mod units;

pub use decide::decide;
