//! The API server and the network path to it, as seen from this node.

use std::fmt;

use crate::id::SinceBoot;
use crate::version::Version;

/// The API server as seen from this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Api {
    /// Not reached.
    Away,
    /// Reached.
    Reached {
        /// Since when it is reached without a break, in this boot.
        since: SinceBoot,
        /// Its version, once the agent has asked.
        version: Option<Version>,
    },
}

/// What this node lacks to reach the API server. Each is a fault of this node or of its network;
/// none means that the API server is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoNetwork {
    /// The network device on the path is down or has no carrier.
    Carrier {
        /// The device.
        device: String,
    },
    /// No device has an address from which the destination can be reached.
    Address {
        /// The destination address.
        to: String,
    },
    /// No route leads to the destination.
    Route {
        /// The destination address.
        to: String,
    },
    /// The API server has a host name, and no resolver answers.
    Resolver {
        /// The name.
        name: String,
    },
}

impl fmt::Display for NoNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Carrier { device } => {
                write!(f, "network device {device} is down or has no carrier")
            }
            Self::Address { to } => write!(f, "no network device has an address that reaches {to}"),
            Self::Route { to } => write!(f, "no route leads to {to}"),
            Self::Resolver { name } => write!(f, "no resolver answers for {name}"),
        }
    }
}
