//! Where a member of etcd listens.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use hyper::Uri;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
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

    /// Where the host is. Nothing is sent to it.
    pub(super) async fn place(&self) -> Place {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let found = found.into_iter().flatten().map(|one| one.ip());
        Place::of(&found.collect::<Vec<_>>(), &own())
    }

    /// The name that the server's certificate must have.
    pub(super) fn server_name(&self) -> Option<ServerName<'static>> {
        ServerName::try_from(self.host.clone()).ok()
    }
}

/// Where a host is, by all of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// This machine, by a name or an address that each machine has for itself.
    Loopback,
    /// This machine.
    Here,
    /// This machine and others.
    Shared,
    /// Not this machine, or nobody knows.
    Elsewhere,
}

impl Place {
    fn of(found: &[IpAddr], own: &[IpAddr]) -> Self {
        let here = found.iter().filter(|one| is_of(**one, own)).count();
        let is_loopback = |one: &IpAddr| one.to_canonical().is_loopback();
        match here {
            0 => Self::Elsewhere,
            _ if here < found.len() => Self::Shared,
            _ if found.iter().all(is_loopback) => Self::Loopback,
            _ => Self::Here,
        }
    }
}

/// The addresses of this machine's network devices.
fn own() -> Vec<IpAddr> {
    let found = getifaddrs().into_iter().flatten();
    found.filter_map(|one| address(&one)).collect()
}

fn address(found: &InterfaceAddress) -> Option<IpAddr> {
    let address = found.address.as_ref()?;
    let four = address.as_sockaddr_in().map(|four| four.ip().into());
    four.or_else(|| address.as_sockaddr_in6().map(|six| six.ip().into()))
}

/// All of 127.0.0.0/8 is this machine, and one address of it is on a device.
fn is_of(address: IpAddr, own: &[IpAddr]) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || own.contains(&address)
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
    use std::process::Command;
    use std::thread;

    use nix::sched::{CloneFlags, unshare};

    use super::*;

    /// This in a network namespace of its own, where a device has these addresses.
    fn with_device<T: Send + 'static>(
        addresses: &'static [&str],
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let in_namespace = move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            for address in addresses {
                let mut ip = Command::new("ip");
                ip.args(["address", "add", address, "dev", "lo"]);
                assert!(ip.status().unwrap().success());
            }
            work()
        };
        thread::spawn(in_namespace).join().unwrap()
    }

    #[test]
    fn loopback_and_secondary_addresses_are_of_this_machine() {
        let own = with_device(&["10.9.0.1/24", "10.9.0.2/24", "fd00::9/64"], own);
        for text in ["127.0.0.1", "127.0.1.1", "::1", "10.9.0.1", "10.9.0.2"] {
            assert!(is_of(text.parse().unwrap(), &own), "{text}: {own:?}");
        }
        for text in ["fd00::9", "::ffff:10.9.0.2", "::ffff:127.0.1.1"] {
            assert!(is_of(text.parse().unwrap(), &own), "{text}: {own:?}");
        }
        // Of the same network, and of one for documentation (RFC 5737).
        for text in ["10.9.0.3", "192.0.2.9", "0.0.0.0", "fd00::8"] {
            assert!(!is_of(text.parse().unwrap(), &own), "{text}: {own:?}");
        }
    }

    #[test]
    fn name_of_several_machines_is_not_this_one_alone() {
        let own = ["10.9.0.2".parse().unwrap()];
        for (found, place) in [
            (vec![], Place::Elsewhere),
            (vec!["10.9.0.3"], Place::Elsewhere),
            (vec!["10.9.0.3", "10.9.0.2"], Place::Shared),
            (vec!["10.9.0.2", "127.0.1.1"], Place::Here),
            (vec!["127.0.1.1", "::1"], Place::Loopback),
        ] {
            let found: Vec<_> = found.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(Place::of(&found, &own), place, "{found:?}");
        }
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
