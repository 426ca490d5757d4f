//! The API server, and the way there, as seen from this node.

use std::fmt;

use crate::id::SinceBoot;
use crate::version::Version;

/// The API server as seen from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Api {
    /// Not reached.
    Away,
    /// Reached.
    Reached {
        /// Since when without a break, in this boot.
        since: SinceBoot,
        /// Its version, once asked.
        version: Option<Version>,
    },
}

/// What a node lacks of a way to the API server. Each is a fault of this node or of its network,
/// and none is an API server that is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoNetwork {
    /// The device that leads there is down or has no carrier.
    Carrier {
        /// The device.
        device: String,
    },
    /// No device has an address from which that can be reached.
    Address {
        /// The address that is to be reached.
        to: String,
    },
    /// No route leads there.
    Route {
        /// The address that is to be reached.
        to: String,
    },
    /// The API server has a name, and no resolver answers.
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
