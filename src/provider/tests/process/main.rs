//! The program itself, as its pod runs it: its flags, its signals, its files. No API server answers here: what needs one is in `tests/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod certificates;
mod hooks;
mod program;
mod readiness;
