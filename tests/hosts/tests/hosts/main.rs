//! The infrastructure provider against a real API server, with the rights and policies of its
//! package: what the API server accepts, what a captured host can do, two leaders at once, and the
//! life of a machine.
#![allow(clippy::unwrap_used, clippy::panic)]

mod captured;
mod claims;
mod drains;
mod failing;
mod hosted;
mod images;
mod kinds;
mod left_alone;
mod life;
mod many;
mod orphans;
mod package;
mod pools;
mod program;
mod refusing;
mod restored;
mod rivals;
mod silent;
mod strays;
mod templates;
mod workload;
