//! What only a real node has: systemd, logind, careen-deploy, the boot loader, the kubelet.

pub mod real;
pub mod saved;
