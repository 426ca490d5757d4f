//! The decision, class by class. Every test is a sentence about one Machine and its Node.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asking;
mod done;
mod hurt;
mod intervals;
mod leaving;
mod leftover;
mod scene;
mod trouble;
mod waits;
