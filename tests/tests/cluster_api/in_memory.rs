//! A whole Cluster on Cluster API's own in-memory infrastructure provider: control plane and
//! workers, without the rig's.

use std::sync::atomic::AtomicU32;
use std::time::Instant;

use anyhow::Result;
use careen_tests::decisions::Decisions;
use careen_tests::fleet::images::{FIRST, LATEST};
use careen_tests::in_memory::{Agents, InMemory, create, health};
use careen_tests::machines::{self, Machine, identities, until_all_serve, until_counted};
use careen_tests::rollout::Rollout;
use careen_tests::wide;
use careen_tests::world::{self, World};
use kube::ResourceExt;
use kube::api::ListParams;
use testkit::cluster_api::cluster::{Cluster, Rolling};
use testkit::cluster_api::objects;

use crate::VERSION;

/// The number of Machines in a control plane.
const CONTROL_PLANE: usize = 3;

/// A Cluster whose Machines all serve in the first version.
struct Scene {
    cluster: Cluster,
    before: Vec<Machine>,
    infra: Vec<(String, String)>,
    rollout: Rollout,
    agents: Agents,
    decisions: Decisions,
}

impl Scene {
    async fn new(world: &World, name: &str, workers: u32, seed: u64) -> Result<Self> {
        let (client, first) = (&world.client, FIRST.version);
        let rolling = Rolling {
            max_surge: 0,
            max_unavailable: half(workers),
        };
        let cluster = create(client, name, first, (workers, rolling)).await?;
        let count = CONTROL_PLANE + workers as usize;
        let before = until_all_serve(client, name, count, first).await?;
        until_counted(client, name, "w", workers).await?;
        let agents = Agents::start(client, name, seed).await?;
        let both = (client, &agents.workload);
        Ok(Self {
            infra: infra_machines(world, name).await?,
            rollout: Rollout::watch(client, name).await?,
            decisions: Decisions::watch_in_memory(both, name, &before).await?,
            cluster,
            before,
            agents,
        })
    }

    /// Upgrades the control plane, then the workers. Asserts that no more Machines than permitted
    /// are unavailable, and that none is replaced.
    async fn upgrades(&self, world: &World, workers: u32) -> Result<()> {
        let version = LATEST.version;
        self.cluster.upgrade_control_plane(version).await?;
        self.until_serving(world, true, version).await?;
        assert_eq!(self.rollout.most_updating(), 1, "control planes at once");
        self.cluster.upgrade_deployment("w", version).await?;
        self.until_serving(world, false, version).await?;
        self.nobody_was_replaced(world).await?;
        let at_once = self.rollout.most_updating();
        assert!(at_once <= half(workers) as usize, "{at_once} at once");
        Ok(())
    }

    /// Waits until the health checks count all Machines, and find them healthy.
    async fn all_are_checked(&self, workers: u32) -> Result<()> {
        let cluster = &self.cluster;
        health::until_checked(cluster, health::CONTROL_PLANE, CONTROL_PLANE).await?;
        health::until_checked(cluster, "w", workers as usize).await
    }

    /// Waits until the Machines of the control plane, or all other Machines, serve in this version.
    async fn until_serving(&self, world: &World, control_plane: bool, version: &str) -> Result<()> {
        let what = format!("control plane {control_plane}: serving in {version}");
        let serve = |all: &[Machine]| {
            let mut asked = all
                .iter()
                .filter(|machine| machine.is_control_plane() == control_plane);
            asked.all(|machine| machine.serves(version))
        };
        machines::until(&world.client, &self.cluster.name, &what, serve).await?;
        Ok(())
    }

    /// Asserts that the Machines, and their InfraMachines, are the same as before.
    async fn nobody_was_replaced(&self, world: &World) -> Result<()> {
        let name = &self.cluster.name;
        let after = machines::all(&world.client, name).await?;
        println!(
            "{name}:\n{}\n{}",
            self.rollout.lines(),
            self.decisions.text()
        );
        assert_eq!(identities(&self.before), identities(&after));
        assert_eq!(self.infra, infra_machines(world, name).await?);
        assert_eq!(self.rollout.gone(), 0, "replaced");
        assert_eq!(self.rollout.most_machines(), self.before.len(), "one came");
        for machine in &after {
            let boots = self.agents.boots(&machine.name());
            assert!(boots >= 1, "{} never rebooted", machine.name());
        }
        Ok(())
    }
}

/// The number of workers that may be unavailable at the same time.
const fn half(workers: u32) -> u32 {
    workers.div_ceil(2)
}

/// Names and UIDs of a Cluster's InfraMachines.
async fn infra_machines(world: &World, cluster: &str) -> Result<Vec<(String, String)>> {
    let kind = objects::kind("infrastructure.cluster.x-k8s.io/v1beta2", "DevMachine")?;
    let api = objects::api(&world.client, &kind, Some(cluster));
    let all = api.list(&ListParams::default()).await?;
    let mut all: Vec<_> = all
        .iter()
        .map(|one| (one.name_any(), one.uid().unwrap_or_default()))
        .collect();
    all.sort();
    Ok(all)
}

#[test]
fn in_memory_provider_rollout_replaces_no_machine() -> Result<()> {
    world::run(VERSION, |world| async move {
        let provider = InMemory::start(VERSION, world.plane, &world.client).await?;
        for seed in wide::seeds()? {
            println!("CAREEN_SEED={seed}");
            let (name, begun) = (format!("in-memory-{seed}"), Instant::now());
            let workers = wide::machines(3)?;
            let scene = Scene::new(world, &name, workers, seed).await?;
            scene.upgrades(world, workers).await?;
            // A watch lasts a minute. A client that polls instead ends three watches a second.
            let watches = provider.ended_watches(&name).await?;
            let lives = begun.elapsed().as_secs() / 30;
            assert!(watches <= 5 + lives, "{watches} watches of Nodes ended");
            // Their API server disappears with the Cluster.
            drop((scene.agents, scene.decisions));
            scene.cluster.remove().await?;
        }
        provider.check().await
    })
}

/// Here Cluster API immediately replaces a node that reboots, unless its Machine forbids that.
#[test]
fn killed_provider_replaces_no_machine_despite_health_checks() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let provider = InMemory::start(VERSION, world.plane, &world.client).await?;
        let (name, workers, seed) = ("in-memory-mortal", 2, 1);
        let scene = Scene::new(world, name, workers, seed).await?;
        scene.cluster.health_check("w", 1).await?;
        health::check_control_plane(&scene.cluster, 1).await?;
        scene.all_are_checked(workers).await?;
        let deaths = AtomicU32::new(0);
        let both = (&world.client, &scene.agents.workload);
        let upgraded = tokio::select! {
            upgraded = scene.upgrades(world, workers) => upgraded,
            ended = world.provider.dies_at_every_write_in_memory(both, &deaths) => ended,
        };
        world.provider.start_again()?;
        upgraded?;
        let deaths = deaths.into_inner();
        assert!(
            deaths >= 10,
            "only {deaths}: five machines, each marked and its node asked"
        );
        // The check does not count the Machines that it skips.
        scene.all_are_checked(workers).await?;
        // Their API server disappears with the Cluster.
        drop((scene.agents, scene.decisions));
        scene.cluster.remove().await?;
        provider.check().await
    })
}
