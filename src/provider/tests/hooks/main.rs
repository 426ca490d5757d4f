//! The hooks, called as core calls them: with requests captured from its real managers, and with
//! requests that only an attacker sends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod can_update;
mod counted;
mod images;
mod scene;
mod traps;
mod turns;
mod update;
mod wire;
mod wrong_hands;
