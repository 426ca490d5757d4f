//! Where a member of etcd listens.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;
use thiserror::Error;
use tokio_rustls::rustls::pki_types::ServerName;
use upgrade::control_plane::Name;

/// A client URL of a member. Only TLS: kubeadm knows nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

/// A text that is not the client URL of a member.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not an address of etcd; expected https://HOST:PORT")]
pub struct NoAddress(Name);

impl Address {
    /// Host and port for a connection and for the header `host`.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// The name that the server's certificate must have.
    pub(super) fn server_name(&self) -> Option<ServerName<'static>> {
        ServerName::try_from(self.host.clone()).ok()
    }
}

impl FromStr for Address {
    type Err = NoAddress;
    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let bad = || NoAddress(text.into());
        let uri: Uri = text.trim().parse().map_err(|_| bad())?;
        let host = uri.host().unwrap_or_default();
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        match (uri.scheme_str(), uri.port_u16()) {
            (Some("https"), Some(port)) if !host.is_empty() => {
                let address = Self { host, port };
                address
                    .server_name()
                    .map(|_| address.clone())
                    .ok_or_else(bad)
            }
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_with_a_port() {
        for (text, shown) in [
            ("https://127.0.0.1:2379", "https://127.0.0.1:2379"),
            ("https://[fd00::1]:2379", "https://[fd00::1]:2379"),
            (
                "https://etcd-1.example.org:2379/",
                "https://etcd-1.example.org:2379",
            ),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(address.server_name().is_some());
        }
        for text in [
            "",
            "http://127.0.0.1:2379",
            "https://127.0.0.1",
            "127.0.0.1:2379",
            "https://:1",
            "https://a b:1",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text:?}");
        }
    }
}
