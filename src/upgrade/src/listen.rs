//! Where the agent serves its metrics: only on this node.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The prefix of a Unix socket's path.
const UNIX: &str = "unix:";

/// An address on this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Listen {
    /// Nowhere.
    #[default]
    Off,
    /// A port of the loopback interface. The metrics need no authentication, so other interfaces
    /// are rejected.
    Loopback(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// An address that is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not an address of this node alone; use \"127.0.0.1:<port>\", \"[::1]:<port>\", \"unix:/<path>\", or \"\" for none"
)]
pub struct NotHere(String);

impl FromStr for Listen {
    type Err = NotHere;

    fn from_str(text: &str) -> Result<Self, NotHere> {
        let not_here = || NotHere(text.chars().take(80).collect());
        if text.is_empty() {
            return Ok(Self::Off);
        }
        if let Some(path) = text.strip_prefix(UNIX) {
            let path = PathBuf::from(path);
            return match path.is_absolute() {
                true => Ok(Self::Unix(path)),
                false => Err(not_here()),
            };
        }
        let address: SocketAddr = text.parse().map_err(|_| not_here())?;
        match address.ip().is_loopback() {
            true => Ok(Self::Loopback(address)),
            false => Err(not_here()),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => Ok(()),
            Self::Loopback(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl TryFrom<String> for Listen {
    type Error = NotHere;
    fn try_from(text: String) -> Result<Self, NotHere> {
        text.parse()
    }
}

impl From<Listen> for String {
    fn from(listen: Listen) -> Self {
        listen.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_socket_addresses_parse_and_print_unchanged() {
        for text in [
            "",
            "127.0.0.1:9840",
            "[::1]:9840",
            "unix:/run/careen/metrics",
        ] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_others_could_reach_is_refused() {
        for text in [
            "0.0.0.0:9840",
            "10.0.0.1:9840",
            "[::]:9840",
            "9840",
            "localhost:9840",
            "unix:metrics",
            "unix:",
        ] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }
}
