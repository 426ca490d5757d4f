//! The Cluster API side of Careen. It turns the desired state of a Machine into a request on the
//! right Node, and turns the Node's answer into what Cluster API expects.
//!
//! One engine decides ([`engine::decide`], pure). Two flows call it: the hooks of the update
//! extension ([`hooks`]) and the annotation on a Machine ([`flow`]). Both read watched state
//! ([`machines`], [`clusters`], [`catalogue`]) and write through [`writes`]. This crate knows
//! nothing of OSTree, boot loaders or draining: the agent handles those on its node.
//!
//! With `--infrastructure` it is an infrastructure provider as well: [`kinds`] are its objects,
//! [`infrastructure`] decides, and [`provision`] carries out.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod api;
pub mod catalogue;
pub mod clock;
pub mod clusters;
pub mod engine;
pub mod events;
pub mod flow;
pub mod hooks;
pub mod kinds;
pub mod lease;
mod listen;
pub mod machines;
pub mod manifests;
pub mod metrics;
pub mod names;
pub mod provision;
pub mod queue;
pub mod rights;
pub mod run;
pub mod settings;
pub mod tls;
mod too_long;
pub mod watch;
pub mod world;
pub mod writes;
