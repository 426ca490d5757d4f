//! The decisions, row by row.
#![allow(clippy::unwrap_used, clippy::panic)]

mod choosing;
mod clusters;
mod hosts;
mod leaving;
mod lost;
mod machines;
mod messages;
mod pools;
mod registrations;
mod scene;
mod strays;
mod templates;
mod twins;
mod words;
