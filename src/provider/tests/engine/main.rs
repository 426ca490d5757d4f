//! The decision, class by class: every test is a sentence about one Machine and its Node.
#![allow(clippy::unwrap_used)]

mod asking;
mod done;
mod leaving;
mod scene;
mod trouble;
