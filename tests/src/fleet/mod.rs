//! Dozens of hosts for Cluster API: simulated machines, each with its own Node and the loop of the
//! real agent. The agent talks to the real API server with the credential of a kubelet.

pub mod fate;
mod host;
pub mod images;
pub(crate) mod kubelet;
mod machine;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use kube::Client;
use testkit::cluster_api::infrastructure::{Host, Hosts, Order};
use testkit::control_plane::ControlPlane;

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
    luck: Arc<Mutex<Vec<(String, Luck)>>>,
    hosts: Arc<Mutex<HashMap<String, FleetHost>>>,
    joined: Arc<Mutex<Vec<Joined>>>,
}

/// A host that joined before its Machine existed.
struct Joined {
    namespace: String,
    node: String,
    /// The Machine that it now belongs to.
    machine: Option<String>,
}

/// The faults that the hosts of a namespace meet.
enum Luck {
    Seeded(Rng),
    Slow(Duration),
}

impl Fleet {
    /// An empty fleet. Faults happen only on request.
    ///
    /// # Errors
    /// When the API server is not reachable.
    pub async fn new(plane: &'static ControlPlane) -> Result<Self> {
        Ok(Self {
            admin: plane.client().await?,
            plane,
            luck: Arc::default(),
            hosts: Arc::default(),
            joined: Arc::default(),
        })
    }

    /// Adds a host with its own name and a version before any Machine for it exists. It then
    /// belongs to the first Machine of the namespace.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn joins(&self, namespace: &str, node: &str, version: &str) -> Result<()> {
        let order = Order {
            name: node.to_owned(),
            namespace: namespace.to_owned(),
            version: version.to_owned(),
            image: None,
            control_plane: false,
        };
        self.come_up(&order, None).await?;
        self.joined().push(Joined {
            namespace: namespace.to_owned(),
            node: node.to_owned(),
            machine: None,
        });
        Ok(())
    }

    fn joined(&self) -> MutexGuard<'_, Vec<Joined>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Node that joined earlier and belongs to this Machine. A Node without a Machine belongs
    /// to this one from now on.
    fn joined_for(&self, order: &Order) -> Option<String> {
        let mut joined = self.joined();
        let may_be = |one: &&mut Joined| {
            let machine = one.machine.as_ref();
            one.namespace == order.namespace && machine.is_none_or(|name| *name == order.name)
        };
        let one = joined.iter_mut().find(may_be)?;
        one.machine = Some(order.name.clone());
        Some(one.node.clone())
    }

    /// Gives the hosts of one namespace faults that all derive from `seed`.
    pub fn misfortunes_for(&self, namespace: &str, seed: u64) {
        self.luck()
            .push((namespace.to_owned(), Luck::Seeded(Rng::with_seed(seed))));
    }

    /// Makes the hosts of one namespace absent for this long at a reboot, without any other fault.
    pub fn boots_in(&self, namespace: &str, boot: Duration) {
        self.luck().push((namespace.to_owned(), Luck::Slow(boot)));
    }

    fn luck(&self) -> MutexGuard<'_, Vec<(String, Luck)>> {
        self.luck.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machine of a Node.
    #[must_use]
    pub fn machine(&self, node: &str) -> Option<FleetMachine> {
        self.hosts().get(node).map(|host| host.machine.clone())
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<String, FleetHost>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same seed gives the same faults to the first host of the namespace, to the second, and
    /// so on: host names are random.
    fn fate(&self, namespace: &str) -> Fate {
        let mut luck = self.luck();
        match luck.iter_mut().find(|(of, _)| of == namespace) {
            None => Fate::kind(),
            Some((_, Luck::Seeded(dice))) => Fate::of(dice),
            Some((_, Luck::Slow(boot))) => Fate {
                boot: *boot,
                ..Fate::kind()
            },
        }
    }

    fn kubelet(&self, name: &str, control_plane: bool) -> Kubelet {
        Kubelet {
            admin: self.admin.clone(),
            name: name.to_owned(),
            control_plane,
        }
    }

    /// Starts a new host, which registers its Node and runs.
    async fn come_up(&self, order: &Order, provider_id: Option<&str>) -> Result<()> {
        let image = Image::carrying(&order.version);
        let image = image.with_context(|| format!("no image carries {}", order.version))?;
        let folder = tempfile::tempdir()?;
        let fate = self.fate(&order.namespace);
        println!("host {}: {fate:?}", order.name);
        let machine = FleetMachine::new(folder.path(), image, fate.clone());
        let kubelet = self.kubelet(&order.name, order.control_plane);
        let kubeconfig = self.credential(&order.name).await?;
        kubelet.register(provider_id).await?;
        let live = FleetHost::start(machine, kubelet, kubeconfig, folder, fate)?;
        self.hosts().insert(order.name.clone(), live);
        Ok(())
    }

    /// kubeadm creates it: a process, which may take some time.
    async fn credential(&self, name: &str) -> Result<PathBuf> {
        let (plane, name) = (self.plane, name.to_owned());
        tokio::task::spawn_blocking(move || plane.node_kubeconfig(&name, VALID)).await?
    }
}

impl Hosts for Fleet {
    async fn boot(&self, order: Order) -> Result<Host> {
        let host = Host {
            provider_id: format!("rig://{}", order.name),
            address: "127.0.0.1".to_owned(),
        };
        let id = Some(host.provider_id.as_str());
        if let Some(node) = self.joined_for(&order) {
            self.kubelet(&node, false).register(id).await?;
        } else if self.machine(&order.name).is_none() {
            self.come_up(&order, id).await?;
        }
        Ok(host)
    }

    async fn scrap(&self, order: Order) -> Result<()> {
        self.hosts().remove(&order.name);
        // The order no longer says whether the host was a control plane. The removal ignores
        // objects that do not exist.
        self.kubelet(&order.name, true).forget().await
    }
}
