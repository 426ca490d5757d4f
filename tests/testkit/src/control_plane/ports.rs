//! The ports of a control plane, all on loopback.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, bail};

/// One port of each program. All but the API server's may change between two starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub api: u16,
    pub etcd: u16,
    pub etcd_peer: u16,
    pub controllers: u16,
    pub scheduler: u16,
}

impl Ports {
    /// The API server keeps its port forever, because joined nodes have it in their kubelet.conf.
    pub fn of(dir: &Path) -> Result<Self> {
        let [api, etcd, etcd_peer, controllers, scheduler] = free()?;
        let file = dir.join("api-port");
        let api = if file.exists() {
            let text = fs::read_to_string(&file)?;
            text.trim()
                .parse()
                .with_context(|| format!("{} holds {text:?}, not a port", file.display()))?
        } else {
            fs::write(&file, api.to_string())?;
            api
        };
        Ok(Self {
            api,
            etcd,
            etcd_peer,
            controllers,
            scheduler,
        })
    }
}

/// Below the kernel's ephemeral ports (net.ipv4.ip_local_port_range begins at 32768). Another
/// program may take one of those after we find it free and before our program listens.
const BELOW: std::ops::Range<u16> = 24_000..32_000;

/// Ports on which no program listens, on any address. None repeats within this process, and each
/// process begins elsewhere.
///
/// # Errors
///
/// Fails when all are taken.
pub fn free<const N: usize>() -> Result<[u16; N]> {
    let mut ports = [0; N];
    for port in &mut ports {
        *port = next_free()?;
    }
    Ok(ports)
}

fn next_free() -> Result<u16> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let all = u32::from(BELOW.end - BELOW.start);
    for _ in 0..all {
        let place = std::process::id()
            .wrapping_mul(SPREAD)
            .wrapping_add(TAKEN.fetch_add(1, Relaxed));
        let port = BELOW.start + u16::try_from(place % all)?;
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!(
        "every port from {} to {} is taken",
        BELOW.start,
        BELOW.end - 1
    )
}

/// The distance between the first ports of two processes with consecutive ids. A run with three
/// control planes uses about thirty.
const SPREAD: u32 = 97;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_comes_twice_and_none_is_the_kernels_to_give_away() {
        let [first, second] = [free::<20>().unwrap(), free::<20>().unwrap()];
        let all: std::collections::BTreeSet<_> = first.into_iter().chain(second).collect();
        assert_eq!(all.len(), 40);
        assert!(all.iter().all(|port| BELOW.contains(port)));
    }

    #[test]
    fn a_port_at_which_somebody_listens_is_passed_over() {
        let [port] = free().unwrap();
        let next = TcpListener::bind(("0.0.0.0", port + 1));
        let [other] = free().unwrap();
        assert!(next.is_err() || other != port + 1);
    }
}
