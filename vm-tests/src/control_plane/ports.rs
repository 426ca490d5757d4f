//! The ports of a control plane, all on loopback.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use anyhow::{Context, Result};

/// One port each; all but the API server's are free to change between two starts.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    pub api: u16,
    pub etcd: u16,
    pub etcd_peer: u16,
    pub controllers: u16,
    pub scheduler: u16,
}

impl Ports {
    /// The API server keeps its port for good, because joined nodes have it in their kubelet.conf.
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

/// Holds all the listeners until the last port is known, so that no port comes twice.
pub(crate) fn free<const N: usize>() -> Result<[u16; N]> {
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}
