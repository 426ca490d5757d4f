//! Access to a node: how Careen reads and changes it, as plain synchronous functions.
//!
//! Every function takes the folders that it works on ([`Places`]), so tests use temporary ones.
//! This crate takes no decisions, uses no network and does not link libostree, because the
//! initramfs needs it.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod agents;
pub mod backup_files;
pub mod boot;
pub mod cmdline;
pub mod container_policy;
pub mod control_plane;
pub mod copies;
pub mod critical;
pub mod durable;
mod error;
pub mod etc;
pub mod etcd_snapshots;
pub mod file_system;
pub mod freeze;
pub mod hash;
pub mod image_info;
pub mod kernel;
pub mod kubeadm;
pub mod kubernetes;
pub mod ledger;
pub mod loader;

pub mod memory;
pub mod mounts;
pub mod os;
pub mod pair;
pub mod patches;
mod places;
pub mod power;
pub mod programs;
pub mod record;
pub mod redact;
pub mod repository;
pub mod room;
pub mod snapshot;
pub mod trust;
pub mod verdict;
pub mod verity;

pub use error::{Error, Result};
pub use places::Places;
