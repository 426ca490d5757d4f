//! A control plane as four processes on this machine: etcd, API server, controller manager,
//! scheduler.
//!
//! kubeadm's own phases create it, so that `kubeadm join` and `kubeadm upgrade node` find what they
//! expect. A guest reaches the API server as 10.0.2.2 (QEMU's user network maps that to our
//! loopback); programs on this machine reach it as 127.0.0.1. It is ready in about 6 s. Everything
//! is in one folder, which can be copied while stopped and started elsewhere. So a cluster can be
//! restored together with a VM's snapshot. It is not for production: etcd neither encrypts nor
//! fsyncs.

mod bootstrap;
mod components;
mod configuration;
mod credentials;
mod folder;
mod plane;
pub mod ports;

pub use configuration::JOIN_TOKEN;
pub use folder::{HOST_SEEN_FROM_GUEST, copy, port_is_taken};
pub use plane::ControlPlane;
