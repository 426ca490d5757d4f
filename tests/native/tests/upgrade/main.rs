//! Upgrades of control-plane nodes by the agent's own loop. Real are the agent, careen-control,
//! kubeadm, etcd and the API servers. The node's disk, boot loader and systemd are a test machine,
//! and each boot of it cuts the member's power.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bystander;
mod external;
mod host;
mod minor;
mod single;
mod three;
