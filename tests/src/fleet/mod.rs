//! Hosts by the dozen for Cluster API: simulated machines, each with a Node of its own and the real agent's loop on it, which
//! talks to the real API server with the credential of a kubelet.

pub mod fate;
mod host;
pub mod images;
mod kubelet;
mod machine;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use vm_tests::cluster_api::infrastructure::{Host, Hosts, Order};
use vm_tests::control_plane::ControlPlane;

use fate::Fate;
use host::FleetHost;
use images::Image;
use kubelet::Kubelet;
pub use machine::FleetMachine;

/// Longer than any test.
const VALID: Duration = Duration::from_secs(24 * 3600);

/// The fleet.
#[derive(Clone)]
pub struct Fleet {
    admin: Client,
    plane: &'static ControlPlane,
    unlucky: Arc<Mutex<Vec<(String, u64)>>>,
    hosts: Arc<Mutex<HashMap<String, FleetHost>>>,
}

impl Fleet {
    /// An empty fleet, in which nothing goes wrong unasked.
    ///
    /// # Errors
    /// When the API server cannot be reached.
    pub async fn new(plane: &'static ControlPlane) -> Result<Self> {
        Ok(Self {
            admin: plane.client().await?,
            plane,
            unlucky: Arc::default(),
            hosts: Arc::default(),
        })
    }

    /// Gives the hosts of one namespace a fate of which all follows from `seed`.
    pub fn misfortunes_for(&self, namespace: &str, seed: u64) {
        let mut unlucky = self.unlucky.lock().unwrap_or_else(PoisonError::into_inner);
        unlucky.push((namespace.to_owned(), seed));
    }

    /// The machine of a Node.
    #[must_use]
    pub fn machine(&self, node: &str) -> Option<FleetMachine> {
        self.hosts().get(node).map(|host| host.machine.clone())
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<String, FleetHost>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hosts are told apart by how many there are: their names are random, and the same seed is to be the same luck.
    fn fate(&self, namespace: &str) -> Fate {
        let unlucky = self.unlucky.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = unlucky.iter().find(|(of, _)| of == namespace);
        let number = self.hosts().len();
        seed.map_or_else(Fate::kind, |(_, seed)| Fate::of(*seed, number))
    }

    fn kubelet(&self, order: &Order) -> Kubelet {
        Kubelet {
            admin: self.admin.clone(),
            name: order.name.clone(),
            control_plane: order.control_plane,
        }
    }

    /// kubeadm makes it: a process, which may take its time.
    async fn credential(&self, name: &str) -> Result<PathBuf> {
        let (plane, name) = (self.plane, name.to_owned());
        tokio::task::spawn_blocking(move || plane.node_kubeconfig(&name, VALID)).await?
    }
}

impl Hosts for Fleet {
    async fn boot(&self, order: Order) -> Result<Host> {
        let name = order.name.clone();
        let host = Host {
            provider_id: format!("rig://{name}"),
            address: "127.0.0.1".to_owned(),
        };
        if self.machine(&name).is_some() {
            return Ok(host);
        }
        let image = Image::carrying(&order.version);
        let image = image.with_context(|| format!("no image carries {}", order.version))?;
        let folder = tempfile::tempdir()?;
        let fate = self.fate(&order.namespace);
        println!("host {name}: {fate:?}");
        let machine = FleetMachine::new(folder.path(), image, fate.clone());
        let kubelet = self.kubelet(&order);
        let kubeconfig = self.credential(&name).await?;
        kubelet.register(&host.provider_id).await?;
        let live = FleetHost::start(machine, kubelet, kubeconfig, folder, fate)?;
        self.hosts().insert(name, live);
        Ok(host)
    }

    async fn scrap(&self, order: Order) -> Result<()> {
        self.hosts().remove(&order.name);
        // Whether it was a control plane is not told any more; what is not there is gone.
        let all = Order {
            control_plane: true,
            ..order
        };
        self.kubelet(&all).forget().await
    }
}
