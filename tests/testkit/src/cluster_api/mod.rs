//! The real managers of Cluster API as plain processes next to a control plane: core, kubeadm
//! bootstrap, kubeadm control plane.
//!
//! Their CRDs and their defaulting and validating webhooks are in use; nothing here is mocked. They
//! need no kubelet, container runtime, cert-manager or kustomize. They are ready in seconds after a
//! build, which takes minutes, once.

pub mod account;
pub mod cluster;
pub mod clusterctl;
mod definitions;
pub mod infrastructure;
mod manager;
mod managers;
mod manifests;
pub mod objects;
mod pool;
mod probe;
pub mod provider;
mod version;

pub use definitions::install as install_definitions;
pub use manager::Manager;
pub use managers::Managers;
pub use manifests::read as documents;
pub use version::Version;
