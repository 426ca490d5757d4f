//! Where the agent serves its metrics: only on this node.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::typo::{Malformed, Wrong};

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

/// The accepted form.
const ACCEPTED: &str = "an address of this node alone, as \"127.0.0.1:<port>\", \"[::1]:<port>\" or \"unix:/<path>\", or \"\" for none";

impl FromStr for Listen {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        if text.is_empty() {
            return Ok(Self::Off);
        }
        let parsed = match text.strip_prefix(UNIX) {
            Some(path) => socket(path).map_err(|wrong| wrong.moved(UNIX.len())),
            None => loopback(text),
        };
        parsed.map_err(|wrong| wrong.in_field("listen", text, ACCEPTED))
    }
}

fn socket(path: &str) -> Result<Listen, Wrong> {
    if !path.starts_with('/') {
        return Err(Wrong::at(0, "its path does not begin with a slash"));
    }
    Ok(Listen::Unix(PathBuf::from(path)))
}

fn loopback(text: &str) -> Result<Listen, Wrong> {
    let Ok(address) = text.parse::<SocketAddr>() else {
        return Err(Wrong::at(0, not_an_address(text)));
    };
    if !address.ip().is_loopback() {
        let ip = address.ip();
        return Err(Wrong::at(0, format!("other machines may reach {ip}")));
    }
    Ok(Listen::Loopback(address))
}

/// The part that is no address or no port.
fn not_an_address(text: &str) -> String {
    let Some((host, port)) = text.rsplit_once(':') else {
        return "it has no :<port>".to_owned();
    };
    if port.parse::<u16>().is_err() {
        return format!("its port {port:?} is no number up to 65535");
    }
    format!("{host:?} is no address in numbers (an IPv6 address has brackets)")
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
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
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
