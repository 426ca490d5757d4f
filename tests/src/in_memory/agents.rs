//! The agents and kubelets of one Cluster's nodes. Each handles the request on its Node, with its
//! own faults derived from one seed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{Api, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use tokio::task::{JoinHandle, JoinSet};
use upgrade::{UpgradeId, names};

use super::boots::{Boots, lock};
use super::upgrade::Upgrade;
use crate::fleet::fate::Fate;
use crate::node::annotation;

/// The poll interval for Nodes. On a watch, kube expects one line for each event, but this API
/// server indents its output.
const LOOK: Duration = Duration::from_millis(200);

/// All agents. A drop ends them.
pub struct Agents {
    /// The Cluster's own API server, with the credential that Cluster API created.
    pub workload: Client,
    boots: Boots,
    hurts: Arc<AtomicBool>,
    life: JoinHandle<()>,
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.life.abort();
    }
}

impl Agents {
    /// Starts to poll their Nodes. The same seed gives the same faults to the first node with a
    /// request, to the second, and so on.
    ///
    /// # Errors
    /// When the Cluster does not have a kubeconfig.
    pub async fn start(management: &Client, cluster: &str, seed: u64) -> Result<Self> {
        let workload = workload(management, cluster).await?;
        let (boots, hurts) = (Boots::default(), Arc::<AtomicBool>::default());
        let hall = Hall {
            hurts: Arc::clone(&hurts),
            workload: workload.clone(),
            luck: Rng::with_seed(seed),
            taken: HashMap::new(),
            boots: Arc::clone(&boots),
            working: JoinSet::new(),
        };
        Ok(Self {
            workload,
            boots,
            hurts,
            life: tokio::spawn(hall.live()),
        })
    }

    /// Decides whether the next upgrades of control-plane nodes halt with a hurt member.
    pub fn hurt(&self, hurts: bool) {
        self.hurts.store(hurts, Ordering::SeqCst);
    }

    /// The number of boots of a node since it joined.
    #[must_use]
    pub fn boots(&self, node: &str) -> u32 {
        lock(&self.boots).get(node).copied().unwrap_or_default()
    }
}

async fn workload(management: &Client, cluster: &str) -> Result<Client> {
    let secrets: Api<Secret> = Api::namespaced(management.clone(), cluster);
    let name = format!("{cluster}{}", provider::names::KUBECONFIG_SUFFIX);
    let data = secrets.get(&name).await?.data.unwrap_or_default();
    let value = data.get(provider::names::KUBECONFIG_KEY);
    let value = value.with_context(|| format!("Secret {name} is empty"))?;
    let kubeconfig = Kubeconfig::from_yaml(std::str::from_utf8(&value.0)?)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    Ok(Client::try_from(config)?)
}

/// The shared state of all agents.
struct Hall {
    workload: Client,
    luck: Rng,
    taken: HashMap<String, UpgradeId>,
    boots: Boots,
    hurts: Arc<AtomicBool>,
    working: JoinSet<()>,
}

impl Hall {
    async fn live(mut self) {
        let nodes: Api<Node> = Api::all(self.workload.clone());
        loop {
            match nodes.list(&ListParams::default()).await {
                Ok(all) => all.iter().for_each(|node| self.look_at(node)),
                Err(error) => eprintln!("the agents see no Nodes: {error}"),
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn look_at(&mut self, node: &Node) {
        let stands = annotation(node, names::REQUEST) == names::REQUEST_SCHEDULED;
        let id = annotation(node, names::UPGRADE_ID).parse::<UpgradeId>();
        let Some(id) = id.ok().filter(|_| stands) else {
            return;
        };
        let name = node.name_any();
        if self.taken.insert(name.clone(), id.clone()).as_ref() == Some(&id) {
            return;
        }
        let fate = Fate::of(&mut self.luck);
        println!("node {name}: {fate:?}");
        let (upgrade, boots) = (
            Upgrade::asked(&self.workload, node, id, fate),
            Arc::clone(&self.boots),
        );
        let hurts = upgrade.is_of_control_plane() && self.hurts.load(Ordering::SeqCst);
        match hurts {
            true => self.working.spawn(upgrade.halts(boots)),
            false => self.working.spawn(upgrade.run(boots)),
        };
    }
}
