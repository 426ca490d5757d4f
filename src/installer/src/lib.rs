//! What runs in the DaemonSet's pod: it delivers the agent to the host and watches it there. The agent itself runs as a service of the
//! host's systemd, under the kubelet's credential, whatever becomes of the pod.
//!
//! Every few seconds: [`look`] at everything, [`decide()`] purely, do one [`act`], say how it is ([`health`]). Nothing is remembered between
//! two turns, so a pod that dies in the middle of one is followed by one that goes on. Only [`remove`] removes anything.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod act;
pub mod bus;
pub mod decide;
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
