//! What only a real node has: systemd, logind, careen-deploy, the boot loader, the kubelet.

pub mod deploy;
pub mod lines;
pub mod real;
pub mod reboot;
pub mod saved;
pub mod snapshot;
pub mod unit;
