//! `kubectl careen`: the command line client of the node protocol. It writes requests as
//! annotations and reads the agents' answers. It needs no server of its own.
//!
//! [`view`] parses what the API server returns, once. Pure functions interpret it ([`standing`],
//! [`diagnose`], [`request`]) and render it ([`render`]). [`commands`] combines them, with one file
//! for each command.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod api;
pub mod cli;
pub mod commands;
pub mod complete;
pub mod console;
pub mod diagnose;
pub mod drain;
pub mod duration;
pub mod exit;
pub mod expected;
pub mod failure;
pub mod fleet;
pub mod hosts;
pub mod lock;
pub mod past_upgrades;
pub mod phase;
pub mod reference;
pub mod render;
pub mod request;
pub mod rollout;
pub mod runbook;
pub mod standing;
pub mod unaccepted;
pub mod view;

pub use commands::run;
