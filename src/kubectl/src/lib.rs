//! `kubectl careen`: a person's hand on the node protocol. It asks by annotations and reads what the agents answer; there is no
//! server of ours behind it.
//!
//! What comes from the API server is parsed once ([`view`]), what it means is decided by pure functions of it ([`standing`],
//! [`diagnose`], [`request`]) and shown by others ([`render`]). [`commands`] puts them together, one file for each command.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod api;
pub mod cli;
pub mod commands;
pub mod complete;
pub mod console;
pub mod diagnose;
pub mod drain;
pub mod exit;
pub mod expected;
pub mod failure;
pub mod fleet;
pub mod pace;
pub mod past;
pub mod phase;
pub mod reference;
pub mod render;
pub mod request;
pub mod runbook;
pub mod span;
pub mod standing;
pub mod untaken;
pub mod view;

pub use commands::run;
pub use upgrade::plain;
