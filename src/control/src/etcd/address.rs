//! Where a member of etcd listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
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

    /// Whether the address belongs to this machine. Nothing is sent: the kernel chooses an address
    /// to send from, and towards an own address that is the address itself.
    pub(super) async fn is_here(&self) -> bool {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        found.into_iter().flatten().any(is_here)
    }

    /// The name that the server's certificate must have.
    pub(super) fn server_name(&self) -> Option<ServerName<'static>> {
        ServerName::try_from(self.host.clone()).ok()
    }
}

fn is_here(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address.ip())
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
    fn addresses_of_this_machine_are_known_without_an_answer() {
        // 192.0.2.0/24 is for documentation (RFC 5737).
        let nobody = "192.0.2.9:2379".parse().unwrap();
        assert!(!is_here(nobody));
        assert!(is_here("127.0.0.1:1".parse().unwrap()));
    }

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
