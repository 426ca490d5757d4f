//! The decisions, row by row.
#![allow(clippy::unwrap_used, clippy::panic)]

mod choosing;
mod claiming;
mod clusters;
mod drains;
mod hosts;
mod joining;
mod leaving;
mod lost;
mod messages;
mod pools;
mod registrations;
mod scene;
mod strays;
mod templates;
mod twins;
mod words;
