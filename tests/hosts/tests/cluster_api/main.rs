//! The real managers of Cluster API, careen-provider as shipped, and careen-host on hosts in folders:
//! a MachineDeployment on prepared hosts grows, shrinks and goes, and its hosts are clean after it.
//! kubeadm, kubelets and careen-agents are played.
#![allow(clippy::unwrap_used)]

#[path = "../hosts/hosted.rs"]
mod hosted;
mod kubelets;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::IMAGE;
use infrastructure::Phase;
use kube::api::{Api, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use provider::kinds::{CareenCluster, CareenHost, CareenMachine};
use serde_json::json;
use testkit::cluster_api::cluster::Cluster;
use testkit::cluster_api::infrastructure::install_kinds;
use testkit::cluster_api::provider::Provider;
use testkit::cluster_api::{Manager, Managers, Version, objects};
use testkit::control_plane::ControlPlane;

use hosted::Program;
use kubelets::Kubelets;

/// The Cluster, and its namespace.
const CLUSTER: &str = "edge";
const HOSTS: [&str; 3] = ["n-1", "n-2", "n-3"];
const VERSION: &str = "v1.36.3";
const PATIENCE: Duration = Duration::from_secs(300);

struct World {
    client: Client,
    cluster: Cluster,
    hosts: Vec<Program>,
    _kubelets: Kubelets,
    _provider: Provider,
    _managers: Managers,
    _plane: ControlPlane,
}

impl World {
    async fn start() -> Result<Self> {
        let folder = testkit::programs::cache()?.join("hosts-managers-cluster");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        let plane = ControlPlane::start(&folder).await?;
        let client = plane.client().await?;
        let these = [Manager::Core, Manager::Bootstrap];
        let managers = Managers::start_these(&these, Version::NEWEST, &plane).await?;
        install_kinds(&client).await?;
        let provider = Provider::start_with_hosts(&plane).await?;
        let cluster = Cluster::on_prepared_hosts(&plane, "127.0.0.1", (CLUSTER, VERSION)).await?;
        let mut hosts = Vec::new();
        register(&client).await?;
        for name in HOSTS {
            let token = "token --registration rack-a";
            let kubeconfig = plane.admin_kubeconfig();
            let ask = || hosted::kubectl(&kubeconfig, CLUSTER, token);
            let text = objects::until("the registration has an account", PATIENCE, ask).await?;
            hosts.push(Program::start(hosted::settings(&text, name)?));
        }
        Ok(Self {
            _kubelets: Kubelets::play(client.clone(), CLUSTER),
            client,
            cluster,
            hosts,
            _provider: provider,
            _managers: managers,
            _plane: plane,
        })
    }

    /// The phases of the hosts.
    async fn phases(&self) -> Result<Vec<Phase>> {
        let hosts: Api<CareenHost> = Api::namespaced(self.client.clone(), CLUSTER);
        let listed = hosts.list(&ListParams::default()).await?;
        let phase = |host: CareenHost| host.status.unwrap_or_default().phase;
        Ok(listed.into_iter().map(phase).collect())
    }

    async fn until_available(&self, wanted: usize) -> Result<()> {
        let ask = || async {
            let phases = self.phases().await?;
            let free = phases.iter().filter(|one| **one == Phase::Available);
            ensure!(free.count() == wanted, "{phases:?}");
            Ok(())
        };
        objects::until("hosts that are free", PATIENCE, ask).await
    }

    /// Waits until so many Machines run, and returns the provider ids.
    async fn until_running(&self, wanted: usize) -> Result<Vec<String>> {
        let kind = objects::kind("cluster.x-k8s.io/v1beta2", "Machine")?;
        let machines = objects::api(&self.client, &kind, Some(CLUSTER));
        let ours: Api<CareenMachine> = Api::namespaced(self.client.clone(), CLUSTER);
        let ask = || async {
            let all = machines.list(&ListParams::default()).await?.items;
            let infra = ours.list(&ListParams::default()).await?.items;
            let said = || {
                let status =
                    |one: &CareenMachine| one.status.clone().unwrap_or_default().conditions;
                let phases: Vec<_> = all.iter().map(|one| &one.data["status"]["phase"]).collect();
                format!(
                    "{phases:?} {:?}",
                    infra.iter().map(status).collect::<Vec<_>>()
                )
            };
            let runs = |one: &DynamicObject| one.data["status"]["phase"] == "Running";
            ensure!(all.len() == wanted && all.iter().all(runs), "{}", said());
            let ids = all
                .iter()
                .map(|one| one.data["spec"]["providerID"].as_str());
            let ids: Option<Vec<_>> = ids.map(|id| id.map(str::to_owned)).collect();
            ids.context("no provider id")
        };
        objects::until("Machines that run", PATIENCE, ask).await
    }
}

/// A registration, and a template that its hosts fit.
async fn register(client: &Client) -> Result<()> {
    let metadata = |name: &str| json!({ "name": name, "namespace": CLUSTER });
    objects::apply(client, &json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": metadata("rack-a"),
        "spec": { "autoApprove": true, "labels": { "site": "north" } },
    }))
    .await?;
    objects::apply(client, &json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachineTemplate",
        "metadata": metadata("workers"),
        "spec": { "template": { "spec": {
            "osImage": IMAGE, "hostSelector": { "matchLabels": { "site": "north" } },
        } } },
    }))
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machine_deployment_on_prepared_hosts_leaves_them_clean() -> Result<()> {
    let mut world = World::start().await?;
    world.until_available(3).await?;
    world
        .cluster
        .deployment_on_hosts("workers", (2, VERSION))
        .await?;
    let first = world.until_running(2).await?;
    ensure!(first[0] != first[1], "{first:?}");

    world.cluster.scale_deployment("workers", 1).await?;
    world.until_running(1).await?;
    world.until_available(2).await?;

    world.cluster.scale_deployment("workers", 3).await?;
    let again = world.until_running(3).await?;
    let kept = again.iter().filter(|id| first.contains(id)).count();
    ensure!(kept == 1, "an id came twice: {first:?}, {again:?}");

    world.cluster.remove().await?;
    world.until_available(3).await?;
    let clusters: Api<CareenCluster> = Api::namespaced(world.client.clone(), CLUSTER);
    ensure!(
        clusters
            .list(&ListParams::default())
            .await?
            .items
            .is_empty()
    );
    let runs: Vec<_> = world.hosts.drain(..).map(Program::end).collect();
    let all: usize = runs.iter().map(|one| one.matches('1').count()).sum();
    assert_eq!(all, 4, "each claim's data ran once: {runs:?}");
    Ok(())
}
