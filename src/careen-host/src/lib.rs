//! `careen-host`: the requests of a prepared host to its management cluster, and the host itself.

#![deny(clippy::wildcard_enum_match_arm)]
#![deny(clippy::disallowed_methods)]

pub mod cluster;
pub mod real;
