//! Workers before a rollout, and the assertions after it.

use anyhow::Result;
use careen_tests::cluster::PATIENCE;
use careen_tests::decisions::Decisions;
use careen_tests::fleet::images::{FIRST, LATEST};
use careen_tests::machines::{self, Machine, identities, until_all_serve, until_counted};
use careen_tests::rollout::Rollout;
use careen_tests::working::Working;
use careen_tests::world::World;
use serde_json::{Value, json};
use testkit::cluster_api::cluster::{Cluster, Rolling, deployment_kind};
use testkit::cluster_api::objects;

/// The gentlest rollout without a spare machine.
pub const ONE_AT_A_TIME: Rolling = Rolling {
    max_surge: 0,
    max_unavailable: 1,
};

/// A Cluster whose workers serve in the first version, while its control plane already has a later
/// version.
pub struct Scene {
    /// The Cluster. Its MachineDeployment is `w`.
    pub cluster: Cluster,
    /// The Machines before the rollout.
    pub before: Vec<Machine>,
    /// Their changes from then on.
    pub rollout: Rollout,
    /// The decisions about them, with the party and the reason.
    pub decisions: Decisions,
    /// How many of their nodes work at the same time.
    pub working: Working,
}

impl Scene {
    /// Returns when all of them serve. No upgrade is requested yet.
    pub async fn new(world: &World, name: &str, count: u32, rolling: Rolling) -> Result<Self> {
        let cluster = Cluster::with_workers(world.plane, name, FIRST.version).await?;
        cluster
            .deployment("w", (count, FIRST.version), rolling)
            .await?;
        let before = until_all_serve(&world.client, name, count as usize, FIRST.version).await?;
        until_counted(&world.client, name, "w", count).await?;
        cluster.control_plane_reaches(LATEST.version).await?;
        let rollout = Rollout::watch(&world.client, name).await?;
        let decisions = Decisions::watch(&world.client, name, &before).await?;
        let nodes = before.iter().map(Machine::name).collect();
        Ok(Self {
            cluster,
            before,
            rollout,
            decisions,
            working: Working::watch(&world.client, nodes),
        })
    }

    /// Waits until all Machines serve in this version, and asserts that they are the same as
    /// before.
    pub async fn arrives(&self, world: &World, version: &str) -> Result<()> {
        let count = self.before.len();
        let after = until_all_serve(&world.client, &self.cluster.name, count, version).await?;
        println!("{}:\n{}", self.cluster.name, self.rollout.lines());
        println!("{}", self.decisions.text());
        assert_eq!(identities(&self.before), identities(&after));
        assert_eq!(self.rollout.gone(), 0, "replaced");
        Ok(())
    }

    /// Requests different Machines: merges a change into the Machine specification of the
    /// MachineDeployment's template.
    pub async fn ask(&self, of_machines: Value) -> Result<()> {
        let change = json!({ "spec": { "template": { "spec": of_machines } } });
        self.cluster.change(&deployment_kind(), "w", change).await
    }

    /// Asserts that nothing has begun: the Machines are the same as before, and none appeared or
    /// disappeared meanwhile.
    pub async fn stands_still(&self, world: &World) -> Result<()> {
        let now = machines::all(&world.client, &self.cluster.name).await?;
        assert_eq!(identities(&self.before), identities(&now));
        assert_eq!(self.rollout.lines(), "");
        assert_eq!(self.rollout.most_machines(), self.before.len(), "one came");
        Ok(())
    }

    /// Asserts that each host has rebooted this many times since it joined.
    pub fn rebooted(&self, world: &World, times: u32) {
        for name in self.before.iter().map(Machine::name) {
            let boots = world.fleet.machine(&name).map(|host| host.boots());
            assert_eq!(boots, Some(times), "reboots of {name}");
        }
    }

    /// Waits until the rollout has this line.
    pub async fn until(&self, line: &str) -> Result<()> {
        let ask = || async {
            let lines = self.rollout.lines();
            anyhow::ensure!(lines.contains(line), "{lines}");
            Ok(())
        };
        objects::until(line, PATIENCE, ask).await
    }
}
