//! The network of a sandbox.

use super::messages::Mode;

/// The network of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// One of its own, which a network plugin makes.
    Own,
    /// The node's.
    Node,
}

impl From<Network> for Mode {
    fn from(network: Network) -> Self {
        match network {
            Network::Own => Self::Pod,
            Network::Node => Self::Node,
        }
    }
}
