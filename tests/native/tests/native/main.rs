//! The native layer keeps its promises: members are real, faults are real, and nothing is left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod control;
mod faults;
mod one;
mod restore;
mod three;
