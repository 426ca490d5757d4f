//! The daemon on a node. It observes, decides, stores, performs and reports.
//!
//! The crate `upgrade` decides what to do; this crate observes and acts. The agent needs the API
//! server to learn of a request, to drain and to report. It does not need the API server to finish
//! an upgrade or to fall back.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod access;
mod clock;
pub mod cluster;
mod control_plane;
pub mod doctor;
pub mod drain;
pub mod executables;
pub mod health;
pub mod kubeadm;
pub mod kubelet;
mod last_trial;
pub mod launch;
pub mod limits;
pub mod lock;
pub mod log;
pub mod metrics;
pub mod node;
pub mod node_state;
pub mod observe;
pub mod plan;
pub mod policy;
pub mod policy_file;
pub mod report;
pub mod run;
pub mod runner;
pub mod serving;
pub mod step;
pub mod task;
pub mod trial;
mod trial_settings;
mod trusted_files;
pub mod unjoined;
pub mod watchdog;
mod zones;
