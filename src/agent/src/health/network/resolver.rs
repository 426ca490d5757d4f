//! Whether this node can resolve the API server's name, as far as that is the node's own
//! responsibility.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::cluster::credential::Endpoint;

/// How long a name lookup may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How long a resolver on this node may take to accept a connection.
const HELLO: Duration = Duration::from_secs(1);

/// The port of resolvers.
const DNS: u16 = 53;

/// The file that the C library uses, and that systemd-resolved itself uses for its queries.
const USED: &str = "/etc/resolv.conf";
const OF_RESOLVED: &str = "/run/systemd/resolve/resolv.conf";

/// The addresses of a name, including /etc/hosts, or `None` if it has none.
pub async fn addresses(server: &Endpoint) -> Option<Vec<IpAddr>> {
    let lookup = tokio::net::lookup_host((server.host.as_str(), server.port));
    let found = tokio::time::timeout(ANSWER, lookup).await.ok()?.ok()?;
    let found: Vec<IpAddr> = found.map(|found| found.ip()).collect();
    (!found.is_empty()).then_some(found)
}

/// The resolvers that receive the queries in the end.
pub fn servers() -> Vec<IpAddr> {
    servers_of(Path::new(USED), Path::new(OF_RESOLVED))
}

fn servers_of(used: &Path, of_resolved: &Path) -> Vec<IpAddr> {
    let used = read(used).unwrap_or_default();
    let is_stub = !used.is_empty() && used.iter().all(IpAddr::is_loopback);
    match read(of_resolved) {
        Some(asked) if is_stub => asked,
        _ => used,
    }
}

fn read(path: &Path) -> Option<Vec<IpAddr>> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.lines().filter_map(server).collect())
}

/// A line `nameserver ADDRESS`, where a link-local address may have a zone.
fn server(line: &str) -> Option<IpAddr> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| *word == "nameserver")?;
    let address = words.next()?;
    let address = address.split_once('%').map_or(address, |(host, _)| host);
    address.parse().ok()
}

/// Whether the programs of this system can ask a resolver, as far as that is the node's own
/// responsibility.
pub async fn is_there() -> bool {
    is_there_by(Path::new(USED)).await
}

async fn is_there_by(used: &Path) -> bool {
    for server in read(used).unwrap_or_default() {
        if !is_dead(server).await {
            return true;
        }
    }
    false
}

/// Whether nothing listens at an address of this node. Resolvers also accept TCP (RFC 7766).
/// Nothing is known about other addresses.
pub async fn is_dead(server: IpAddr) -> bool {
    if !server.is_loopback() {
        return false;
    }
    let hello = TcpStream::connect(SocketAddr::new(server, DNS));
    let refused = |error: std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    let heard = tokio::time::timeout(HELLO, hello).await;
    heard.is_ok_and(|hello| hello.is_err_and(refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolvers_are_those_that_a_stub_asks_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (used, resolved) = (folder.path().join("used"), folder.path().join("resolved"));
        let write = |path: &Path, text: &str| std::fs::write(path, text).unwrap();
        let servers = || servers_of(&used, &resolved);
        assert_eq!(servers(), [] as [IpAddr; 0], "there is no file");
        write(
            &used,
            "# nameserver 1.1.1.1\nsearch x\nnameserver 192.0.2.53\n nameserver fe80::1%eth0\n",
        );
        let own: [IpAddr; 2] = ["192.0.2.53", "fe80::1"].map(|text| text.parse().unwrap());
        assert_eq!(servers(), own);
        write(&resolved, "nameserver 198.51.100.1\n");
        assert_eq!(servers(), own, "resolved is not asked");
        write(&used, "nameserver 127.0.0.53\n");
        assert_eq!(servers(), ["198.51.100.1".parse::<IpAddr>().unwrap()]);
        write(&resolved, "# No DNS servers known.\n");
        assert_eq!(servers(), [] as [IpAddr; 0]);
        std::fs::remove_file(&resolved).unwrap();
        assert_eq!(servers(), ["127.0.0.53".parse::<IpAddr>().unwrap()]);
    }

    #[tokio::test]
    async fn a_resolver_on_this_node_that_nobody_runs_is_dead() {
        assert!(is_dead("127.9.9.9".parse().unwrap()).await);
        let another = "192.0.2.53".parse().unwrap();
        assert!(!is_dead(another).await, "nothing is known of it");
    }

    #[tokio::test]
    async fn system_whose_only_resolver_is_dead_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let used = folder.path().join("resolv.conf");
        assert!(!is_there_by(&used).await, "there is no file");
        std::fs::write(&used, "nameserver 127.9.9.9\n").unwrap();
        assert!(!is_there_by(&used).await);
        std::fs::write(&used, "nameserver 127.9.9.9\nnameserver 192.0.2.53\n").unwrap();
        assert!(is_there_by(&used).await);
    }

    #[tokio::test]
    async fn a_name_of_this_node_is_resolved_and_one_that_is_none_is_not() {
        let at = |host: &str| Endpoint {
            host: host.to_owned(),
            port: 6443,
        };
        assert!(addresses(&at("localhost")).await.is_some());
        assert_eq!(addresses(&at("nobody.invalid")).await, None);
    }
}
