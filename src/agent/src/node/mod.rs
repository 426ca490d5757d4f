//! What only a real node has: systemd, logind, careen-deploy, the boot loader, the kubelet.

pub(crate) mod bus;
pub mod real;
pub mod saved;
pub mod systemd;
