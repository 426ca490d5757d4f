//! Why this node itself has no route to the API server. A node without carrier, address, route or
//! resolver says nothing about the server. Such a system must not count as one whose server is
//! unreachable.
//!
//! An unknown state counts as a working network. The API server is then to blame, as without this
//! check.

mod devices;
pub(crate) mod resolver;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::NoNetwork;

use crate::cluster::credential::{Endpoint, endpoint};
use devices::Device;

/// How often the agent looks at the network. Only in a trial.
const PAUSE: Duration = Duration::from_secs(5);

/// How long a look takes at most: it looks up a name, and asks resolvers on this node.
const LOOK: Duration = Duration::from_secs(10);

/// The errors of a connect that finds no route.
const NO_WAY: [Errno; 5] = [
    Errno::ENETUNREACH,
    Errno::EHOSTUNREACH,
    Errno::EADDRNOTAVAIL,
    Errno::EACCES,
    Errno::ENETDOWN,
];

/// The looks of one trial, concurrent with its checks, because a resolver that does not answer must
/// not delay the checks.
pub struct Network {
    found: watch::Receiver<Result<(), NoNetwork>>,
    task: JoinHandle<()>,
}

impl Drop for Network {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Network {
    /// Starts to look at the route to the API server of this kubeconfig.
    pub fn follow(kubeconfig: PathBuf) -> Self {
        let (sender, found) = watch::channel(Ok(()));
        let task = tokio::spawn(async move {
            loop {
                let _ = sender.send_replace(look(&kubeconfig).await);
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { found, task }
    }

    /// Waits for the first look, but no longer than one look takes. Until then nothing counts as
    /// missing.
    pub async fn first(&mut self) {
        let _ = tokio::time::timeout(LOOK, self.found.changed()).await;
    }

    /// The latest result.
    pub fn now(&self) -> Result<(), NoNetwork> {
        self.found.borrow().clone()
    }
}

/// Looks once. Reads the kubeconfig again each time, because it may now name another server or a
/// proxy.
async fn look(kubeconfig: &Path) -> Result<(), NoNetwork> {
    let (Ok(server), Ok(devices)) = (endpoint(kubeconfig), devices::all()) else {
        return Ok(());
    };
    if let Ok(address) = server.host.parse() {
        return way(address, &devices);
    }
    match resolver::addresses(&server).await {
        Some(addresses) => any(addresses.iter().map(|address| way(*address, &devices))),
        None => unresolved(&server, &devices).await,
    }
}

/// The name has no address. That is this node's fault if it has no resolver, or no route to one.
async fn unresolved(server: &Endpoint, devices: &[Device]) -> Result<(), NoNetwork> {
    let mut alive = Vec::new();
    for resolver in resolver::servers() {
        if !resolver::is_dead(resolver).await {
            alive.push(way(resolver, devices));
        }
    }
    if alive.is_empty() {
        let name = server.host.clone();
        return Err(NoNetwork::Resolver { name });
    }
    any(alive.into_iter())
}

/// One route is enough. Without any, the first gives the reason.
fn any(ways: impl Iterator<Item = Result<(), NoNetwork>>) -> Result<(), NoNetwork> {
    let mut why = Ok(());
    for way in ways {
        match way {
            Ok(()) => return Ok(()),
            Err(lack) => why = why.and(Err(lack)),
        }
    }
    why
}

fn way(to: IpAddr, devices: &[Device]) -> Result<(), NoNetwork> {
    judge(to, source(to), devices)
}

/// The source address that the kernel would use. Nothing is sent: for UDP, a connect only looks up
/// the route.
fn source(to: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match to {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(SocketAddr::new(to, 9))?;
    Ok(socket.local_addr()?.ip())
}

fn judge(to: IpAddr, source: io::Result<IpAddr>, devices: &[Device]) -> Result<(), NoNetwork> {
    let is_own = devices.iter().any(|one| one.addresses.contains(&to));
    if to.is_loopback() || is_own {
        // A proxy or load balancer on this node leads to the server, and only it knows by which
        // route.
        return devices::leads_out(devices)
            .then_some(())
            .ok_or_else(|| lack(to, devices));
    }
    let source = match source {
        Ok(source) => source,
        Err(error) if is_no_way(&error, to) => return Err(lack(to, devices)),
        Err(_) => return Ok(()),
    };
    if source.is_unspecified() || source.is_loopback() || is_too_near(source, to) {
        return Err(lack(to, devices));
    }
    let owner = devices.iter().find(|one| one.addresses.contains(&source));
    match owner {
        Some(device) if !device.runs => Err(NoNetwork::Carrier {
            device: device.name.clone(),
        }),
        // A tunnel, or an address that routes lead to, always has carrier. Some device must carry
        // its packets.
        Some(device) if !device.is_hardware && !devices::carry(devices) => Err(lack(to, devices)),
        Some(_) | None => Ok(()),
    }
}

/// What the kernel answers without a route, and with one that refuses: `blackhole` (`EINVAL`),
/// `prohibit` (`EACCES`) and `unreachable`. `EPERM` is a filter of this process alone.
fn is_no_way(error: &io::Error, to: IpAddr) -> bool {
    match error.raw_os_error().map(Errno::from_raw) {
        // A link-local address without its zone gives this error on every node.
        Some(Errno::EINVAL) => !devices::is_of_the_link(&to),
        found => found.is_some_and(|found| NO_WAY.contains(&found)),
    }
}

/// A link-local address reaches nothing beyond its link.
fn is_too_near(source: IpAddr, to: IpAddr) -> bool {
    devices::is_of_the_link(&source) && !devices::is_of_the_link(&to)
}

/// What is missing: the first item in the order in which a network comes up.
fn lack(to: IpAddr, devices: &[Device]) -> NoNetwork {
    let out = devices::outward(devices);
    let names: Vec<&str> = out.iter().map(|one| one.name.as_str()).collect();
    if !out.is_empty() && !out.iter().any(|one| one.runs) {
        let device = names.join(", ");
        return NoNetwork::Carrier { device };
    }
    let fits = |own: &IpAddr| own.is_ipv4() == to.is_ipv4() && !devices::is_of_the_link(own);
    let mut own = out.iter().flat_map(|one| &one.addresses);
    let has_address = own.any(fits);
    let to = to.to_string();
    if has_address {
        NoNetwork::Route { to }
    } else {
        NoNetwork::Address { to }
    }
}

#[cfg(test)]
mod tests;
