//! A joined node as the one Machine of a MachineDeployment, with everything around it: the real
//! managers, the rig's infrastructure provider and careen-provider.
//!
//! The node's own API server holds the management objects too. Only the host's creation is
//! simulated: the Machine gets the existing node. The infrastructure provider refuses to give it
//! another node or to remove this one.

mod host;
pub mod machine;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use serde_json::Value;
use testkit::cluster_api::cluster::{Cluster, Rolling};
use testkit::cluster_api::infrastructure::Infrastructure;
use testkit::cluster_api::provider::{self, Provider};
use testkit::cluster_api::{Manager, Managers, Version, objects};
use testkit::control_plane::ControlPlane;

use self::host::JoinedHost;
use self::machine::{MachineWatch, View};

/// The Cluster, and its namespace.
pub const CLUSTER: &str = "edge";

/// The MachineDeployment.
pub const DEPLOYMENT: &str = "workers";

/// A worker needs no kubeadm control plane manager.
const MANAGERS: [Manager; 2] = [Manager::Core, Manager::Bootstrap];

/// How long Cluster API may take to follow a change. It takes seconds on a quiet machine; the limit
/// is long because a node is emulated at the same time.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often core must ask again before a rollout counts as held.
const ASKED_AGAIN: u64 = 2;

/// Kinds whose objects a replacement would recreate.
const KEPT: [(&str, &str); 4] = [
    ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
    ("cluster.x-k8s.io/v1beta2", "Machine"),
    ("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig"),
    ("infrastructure.rig.careen.dev/v1alpha1", "RigMachine"),
];

/// UIDs by kind.
type Identities = BTreeMap<&'static str, Vec<String>>;

/// The node and everything that controls it. Dropping it ends everything except the node.
pub struct Adopted {
    node: String,
    cluster: Cluster,
    machines: MachineWatch,
    before: Identities,
    provider: Provider,
    managers: Managers,
    _infrastructure: Infrastructure,
}

/// Builds the programs that run next to the node. The first build takes minutes and needs a
/// network.
///
/// # Errors
///
/// Fails when a build fails. Its own output is on standard error.
pub fn build() -> Result<()> {
    for manager in MANAGERS {
        manager.built(Version::NEWEST)?;
    }
    provider::program().map(drop)
}

impl Adopted {
    /// Starts everything and makes a Machine from a Node that runs this version. Returns when
    /// Cluster API finds it up to date.
    ///
    /// # Errors
    ///
    /// Fails when a part does not start, or the Machine does not become available.
    pub async fn start(plane: &ControlPlane, node: &str, version: &str) -> Result<Self> {
        let client = plane.client().await?;
        let managers = Managers::start_these(&MANAGERS, Version::NEWEST, plane).await?;
        let host = JoinedHost::new(client.clone(), node);
        let mut this = Self {
            node: node.to_owned(),
            _infrastructure: Infrastructure::start(client.clone(), host).await?,
            provider: Provider::start(plane).await?,
            cluster: Cluster::with_workers(plane, CLUSTER, version).await?,
            machines: MachineWatch::start(&client, CLUSTER)?,
            before: Identities::new(),
            managers,
        };
        this.take_over(version).await?;
        Ok(this)
    }

    async fn take_over(&mut self, version: &str) -> Result<()> {
        let rolling = Rolling {
            max_surge: 0,
            max_unavailable: 1,
        };
        let one = (1, version);
        self.cluster.deployment(DEPLOYMENT, one, rolling).await?;
        let serves = |machine: &View| machine.serves(version);
        self.wait("the Machine serves", serves).await?;
        self.until_counted().await?;
        self.before = self.identities().await?;
        // Only after that: a worker may not be newer than its control plane, and kubeadm joins only
        // nodes of its own minor.
        let server = self.cluster.client.apiserver_version().await?;
        self.cluster
            .control_plane_reaches(&server.git_version)
            .await
    }

    /// Core counts a Machine some time after it is available. Until then core assumes that a
    /// replacement costs nothing, and replaces it without asking for an in-place update (v1.14.2,
    /// the rolling update of `machinedeployment`).
    async fn until_counted(&self) -> Result<()> {
        let ask = || async {
            let sets = self.available("MachineSet").await?;
            let counted = (sets, self.available("MachineDeployment").await?);
            ensure!(counted == (1, 1), "{counted:?}");
            Ok(())
        };
        objects::until("the Machine counted", PATIENCE, ask).await
    }

    async fn available(&self, kind: &str) -> Result<u64> {
        let objects = self.list("cluster.x-k8s.io/v1beta2", kind).await?;
        let counts = objects
            .iter()
            .map(|one| &one.data["status"]["availableReplicas"]);
        Ok(counts.filter_map(Value::as_u64).sum())
    }

    /// Sets the image of a version, replacing the whole catalogue.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn catalogue(&self, version: &str, image: &str) -> Result<()> {
        self.provider.catalogue(version, image).await
    }

    /// Changes the MachineDeployment's version.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn ask_for(&self, version: &str) -> Result<()> {
        self.cluster.upgrade_deployment(DEPLOYMENT, version).await
    }

    /// The Machine.
    ///
    /// # Errors
    ///
    /// Fails when it was replaced.
    pub fn machine(&self) -> Result<View> {
        self.machines.the_one()
    }

    /// Succeeds while everything runs.
    ///
    /// # Errors
    ///
    /// Fails when a process has ended. The message names its log and repeats the last lines.
    pub fn check(&mut self) -> Result<()> {
        self.managers.check()?;
        self.provider.check()
    }

    /// Waits until Cluster API reports this about the Machine.
    ///
    /// # Errors
    ///
    /// Fails when it does not, a process ends, or the Machine is replaced.
    pub async fn wait(&mut self, what: &str, wanted: impl Fn(&View) -> bool) -> Result<View> {
        let found = self.machines.wait(what, PATIENCE, wanted).await;
        self.check()?;
        found
    }

    /// Adds to an error what Cluster API says about the Machine. If the node got no request, the
    /// reason is there.
    ///
    /// # Errors
    ///
    /// Returns the error. If a process has ended or the Machine was replaced, it returns that
    /// instead.
    pub fn explain<T>(&mut self, result: Result<T>) -> Result<T> {
        if result.is_ok() {
            return result;
        }
        self.check()?;
        let machine = self.machine()?;
        result.with_context(|| format!("the Machine is {machine:#?}"))
    }

    /// Checks that our hooks updated the Machine to this version and that all objects are the same.
    ///
    /// # Errors
    ///
    /// Fails when any of these checks fails.
    pub async fn expect_updated_in_place(&mut self, version: &str) -> Result<()> {
        let serves = |machine: &View| machine.serves(version);
        self.wait("the Machine is up to date", serves).await?;
        for hook in ["CanUpdateMachineSet", "UpdateMachine"] {
            let calls = self.provider.answered(hook).await?;
            ensure!(calls > 0, "core never called {hook}");
        }
        self.expect_the_same().await
    }

    /// Checks that the Machine says why it is not updated while core asks again and again without
    /// effect.
    ///
    /// # Errors
    ///
    /// Fails when any of these checks fails.
    pub async fn expect_held(&mut self, reason: &str) -> Result<()> {
        let holds = |machine: &View| {
            let told = machine.updating.as_ref();
            told.is_some_and(|told| told.contains(reason)) && !machine.up_to_date
        };
        self.wait("the Machine says why", holds).await?;
        let asked = self.provider.answered("UpdateMachine").await? + ASKED_AGAIN;
        let asks = || async {
            let now = self.provider.answered("UpdateMachine").await?;
            ensure!(now >= asked, "UpdateMachine was called {now} times");
            Ok(())
        };
        objects::until("core asks again", PATIENCE, asks).await?;
        let machine = self.machine()?;
        ensure!(holds(&machine), "it holds no more: {machine:#?}");
        self.expect_the_same().await
    }

    /// Checks that nothing was deleted or recreated.
    ///
    /// # Errors
    ///
    /// Fails when something was.
    pub async fn expect_the_same(&self) -> Result<()> {
        self.machine()?;
        let (before, now) = (&self.before, self.identities().await?);
        ensure!(*before == now, "UIDs are {now:#?}, no more {before:#?}");
        Ok(())
    }

    /// The UIDs of all objects that a replacement would recreate, including the Node.
    ///
    /// # Errors
    ///
    /// Fails when the API server does not answer.
    pub async fn identities(&self) -> Result<Identities> {
        let mut found = Identities::new();
        for (version, kind) in KEPT {
            let objects = self.list(version, kind).await?;
            found.insert(kind, objects.iter().filter_map(ResourceExt::uid).collect());
        }
        let nodes: Api<Node> = Api::all(self.cluster.client.clone());
        let node = nodes.get(&self.node).await?;
        found.insert("Node", node.uid().into_iter().collect());
        Ok(found)
    }

    async fn list(&self, version: &str, kind: &str) -> Result<Vec<DynamicObject>> {
        let kind = objects::kind(version, kind)?;
        let api = objects::api(&self.cluster.client, &kind, Some(CLUSTER));
        Ok(api.list(&ListParams::default()).await?.items)
    }
}
