//! The infrastructure provider against a real API server, with the rights and policies of its
//! package: what the API server accepts, what a captured host can do, two leaders at once, and the
//! life of a machine.
#![allow(clippy::unwrap_used, clippy::panic)]

mod captured;
mod claims;
mod drains;
mod hosted;
mod kinds;
mod life;
mod orphans;
mod package;
mod pools;
mod program;
mod refusing;
mod rivals;
mod strays;
mod templates;
mod workload;
