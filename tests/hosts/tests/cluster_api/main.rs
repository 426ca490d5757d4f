//! The real managers of Cluster API, careen-provider as shipped, and careen-host on hosts in folders:
//! a MachineDeployment and a MachinePool on prepared hosts grow, shrink and go, and their hosts are
//! clean after it. The templates for clusterctl make clusters, and clusterctl moves one to another
//! management cluster. kubeadm, kubelets and careen-agents are played.
#![allow(clippy::unwrap_used)]

mod agents;
#[path = "../hosts/hosted.rs"]
mod hosted;
mod kubelets;
mod management;
mod moved;
mod templates;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::IMAGE;
use infrastructure::Phase;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use provider::kinds::{CareenCluster, CareenHost, CareenMachine, CareenMachinePool};
use serde_json::{Value, json};
use testkit::cluster_api::cluster::Cluster;
use testkit::cluster_api::{Manager, objects};

use agents::Agents;
use hosted::Program;
use kubelets::Kubelets;
use management::Management;

/// The Cluster, and its namespace.
const CLUSTER: &str = "edge";
const HOSTS: [&str; 3] = ["n-1", "n-2", "n-3"];
const VERSION: &str = "v1.36.3";
/// What the pool is upgraded to.
const NEXT: &str =
    "ostree:site:os@2222222222222222222222222222222222222222222222222222222222222222";
const NEXT_VERSION: &str = "v1.36.4";
const PATIENCE: Duration = Duration::from_secs(300);

struct World {
    client: Client,
    cluster: Cluster,
    hosts: Vec<Program>,
    _kubelets: Kubelets,
    management: Management,
}

impl World {
    async fn start() -> Result<Self> {
        let management = Management::start(&[Manager::Core, Manager::Bootstrap]).await?;
        let (plane, client) = (&management.plane, management.client.clone());
        let cluster = Cluster::on_prepared_hosts(plane, "127.0.0.1", (CLUSTER, VERSION)).await?;
        register(&client).await?;
        template(&client).await?;
        Ok(Self {
            _kubelets: Kubelets::play(client.clone(), CLUSTER),
            hosts: management.hosts(&HOSTS).await?,
            client,
            cluster,
            management,
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

impl World {
    /// Waits until core says that the MachinePool runs with so many Nodes.
    async fn until_pool_runs(&self, wanted: usize) -> Result<()> {
        let kind = objects::kind("cluster.x-k8s.io/v1beta2", "MachinePool")?;
        let pools = objects::api(&self.client, &kind, Some(CLUSTER));
        let nodes: Api<Node> = Api::all(self.client.clone());
        let ask = || async {
            let pool = pools.get("pool").await?;
            let refs = pool.data["status"]["nodeRefs"].as_array();
            let phase = &pool.data["status"]["phase"];
            let there = nodes.list(&ListParams::default()).await?.items.len();
            ensure!(
                refs.map_or(0, Vec::len) == wanted && there == wanted && phase == "Running",
                "{there} Nodes, {}",
                pool.data["status"]
            );
            Ok(())
        };
        objects::until("a MachinePool that runs", PATIENCE, ask).await
    }
}

impl World {
    /// Sets the image of the pool.
    async fn set_image(&self, image: &str) -> Result<()> {
        let pools: Api<CareenMachinePool> = Api::namespaced(self.client.clone(), CLUSTER);
        let change = json!({ "spec": { "template": { "osImage": image } } });
        let how = PatchParams::default();
        pools.patch("pool", &how, &Patch::Merge(change)).await?;
        Ok(())
    }

    /// Waits until all Machines of the pool have the next version, and core has it from their
    /// kubelets.
    async fn until_upgraded(&self, wanted: i32) -> Result<()> {
        let kind = objects::kind("cluster.x-k8s.io/v1beta2", "Machine")?;
        let machines = objects::api(&self.client, &kind, Some(CLUSTER));
        let pools: Api<CareenMachinePool> = Api::namespaced(self.client.clone(), CLUSTER);
        let ask = || async {
            let status = pools.get("pool").await?.status.unwrap_or_default();
            ensure!(status.up_to_date_replicas == Some(wanted), "{status:?}");
            for machine in machines.list(&ListParams::default()).await? {
                let version = &machine.data["spec"]["version"];
                let notes = machine.annotations();
                ensure!(version == NEXT_VERSION, "{version} {notes:?}");
                let asks = notes.contains_key(provider::names::ASK);
                ensure!(
                    !asks && machine.data["status"]["phase"] == "Running",
                    "{notes:?}"
                );
            }
            Ok(())
        };
        objects::until("machines that are upgraded", PATIENCE, ask).await
    }
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": CLUSTER })
}

async fn register(client: &Client) -> Result<()> {
    objects::apply(client, &json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": metadata("rack-a"),
        "spec": { "autoApprove": true, "labels": { "site": "north" } },
    }))
    .await?;
    Ok(())
}

/// A template that the hosts of the registration fit.
async fn template(client: &Client) -> Result<()> {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machine_pool_on_prepared_hosts_leaves_them_clean() -> Result<()> {
    let world = World::start().await?;
    world.until_available(3).await?;
    let template =
        json!({ "osImage": IMAGE, "hostSelector": { "matchLabels": { "site": "north" } } });
    let cluster = &world.cluster;
    cluster
        .pool_on_hosts("pool", (2, VERSION), template)
        .await?;
    let first = world.until_running(2).await?;
    world.until_pool_runs(2).await?;

    cluster.scale_pool("pool", 3).await?;
    world.until_running(3).await?;
    world.until_pool_runs(3).await?;

    let _agents = Agents::play(world.client.clone());
    let before = world.until_running(3).await?;
    let template = json!({ "spec": { "version": NEXT_VERSION } });
    let pool = json!({ "spec": { "template": template } });
    cluster.change_pool("pool", pool).await?;
    world.set_image(NEXT).await?;
    world.until_upgraded(3).await?;
    let after = world.until_running(3).await?;
    let same = after.iter().all(|id| before.contains(id));
    ensure!(same, "no machine was replaced: {before:?}, {after:?}");
    world.until_pool_runs(3).await?;

    cluster.scale_pool("pool", 1).await?;
    let rest = world.until_running(1).await?;
    ensure!(
        first.contains(&rest[0]),
        "the newest go first: {first:?}, {rest:?}"
    );
    world.until_available(2).await?;
    world.until_pool_runs(1).await?;

    cluster.scale_pool("pool", 0).await?;
    world.until_available(3).await?;
    // The hosts in folders have changed no image, and cannot.
    world.set_image(IMAGE).await?;
    cluster.scale_pool("pool", 1).await?;
    world.until_running(1).await?;
    cluster.remove().await?;
    world.until_available(3).await
}
