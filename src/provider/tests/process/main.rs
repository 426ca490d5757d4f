//! The program itself, as its pod runs it: its flags, its signals, its files. No API server answers
//! here; tests that need one are in `tests/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod certificates;
mod hooks;
mod program;
mod readiness;
