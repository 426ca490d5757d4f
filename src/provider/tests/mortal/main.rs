//! The whole careen-provider against a small API server. It dies at each of its writes and a
//! successor finishes; others write to the objects that it is about to write. Whole rollouts on
//! real API servers are in `tests/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent;
mod ahead;
mod annotated;
mod counted;
mod deaths;
mod endless;
mod hasty;
mod leftovers;
mod liar;
mod lies;
mod life;
mod meddling;
mod replicas;
mod scene;
mod server;
mod small;
