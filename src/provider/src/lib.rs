//! Cluster API's side of Careen: what a Machine should be becomes a request on the right Node, and the Node's answer what Cluster
//! API expects.
//!
//! One engine decides ([`engine::decide`], pure); two roads lead to it: the hooks of the update extension ([`hooks`]) and the
//! annotation on a Machine ([`flow`]). Both read watched state ([`machines`], [`clusters`], [`catalogue`]) and write through
//! [`hands`]. Nothing here knows OSTree, boot loaders or pods: that is the agent's on its node.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod api;
pub mod catalogue;
pub mod clusters;
pub mod engine;
pub mod events;
pub mod flow;
pub mod hands;
pub mod hooks;
pub mod lease;
mod listen;
pub mod machines;
pub mod manifests;
pub mod metrics;
pub mod names;
pub mod queue;
pub mod rights;
pub mod run;
pub mod settings;
pub mod tls;
pub mod watch;
pub mod world;
