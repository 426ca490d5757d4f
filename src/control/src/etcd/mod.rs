//! etcd, over the JSON gateway on its own client port.
//!
//! - `address`: where a member is.
//! - `client`: one request over TLS, with limits on time and size.
//! - `wire`: what the gateway answers.
//! - `look`: all members at once.

mod address;
mod client;
mod look;
mod wire;

pub use address::{Address, NoAddress};
pub use client::{Client, Failed, Unusable};
pub use look::{Found, external, stacked};
