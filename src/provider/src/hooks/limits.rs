//! The limits of the hooks' server.

use std::time::Duration;

/// Limits against clients other than core.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest body in bytes. A request holds at most six objects, of 0.2 MiB together in
    /// practice. What a node is bootstrapped with is the largest, and its Secret holds at most 1
    /// MiB.
    pub body: usize,
    /// The timeout for each of: the handshake, the time from there to the first call, the headers,
    /// the body.
    pub patience: Duration,
    /// How long a connection stays open without a call. Core closes its own after 90 s.
    pub idle: Duration,
    /// The maximum number of connections. Core and the control plane's manager keep a few each.
    pub connections: usize,
    /// How many bodies are read at once. Together with `body` this bounds the memory, and the
    /// Deployment's limit must have room for that maximum.
    pub bodies: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 2 << 20,
            patience: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            connections: 1024,
            bodies: 8,
        }
    }
}
