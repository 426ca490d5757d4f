//! The managers in one cluster, the Nodes of their Machines in another, and Machines that serve in
//! the first version.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use careen_tests::fleet::images::{FIRST, LATEST};
use careen_tests::machines::{self, Machine, core, until_counted};
use careen_tests::provider_release;
use kube::Client;
use kube::api::{Api, DynamicObject};
use testkit::cluster_api::cluster::Cluster;
use testkit::cluster_api::infrastructure::{self, Infrastructure};
use testkit::cluster_api::{Manager, Managers, Version, objects};
use testkit::control_plane::ControlPlane;

use super::PATIENCE;
use super::cluster::{self, all_at_once, deployments};
use super::rack::Rack;
use crate::machines::SPACE;
use crate::server::{Server, folder};

/// Workers need only these managers.
const NEEDED: [Manager; 2] = [Manager::Core, Manager::Bootstrap];

/// Both clusters. On a drop, clients end before their servers.
pub struct Scene {
    managers: Managers,
    _infrastructure: Infrastructure,
    cluster: Cluster,
    /// The administrator of the management cluster.
    pub admin: Client,
    /// The workload cluster.
    pub workload: Server,
    /// The management cluster.
    pub management: ControlPlane,
}

impl Scene {
    /// New clusters with all objects that Machines need, and no Machine yet.
    pub async fn start(minor: Version) -> Result<Self> {
        let management = ControlPlane::start(&folder("management")?).await?;
        let admin = management.client().await?;
        let managers = Managers::start_these(&NEEDED, minor, &management).await?;
        provider_release::install(&admin).await?;
        let workload = Server::start().await?;
        let rack = Rack::new(&workload.admin);
        let infrastructure = Infrastructure::start(admin.clone(), rack).await?;
        Ok(Self {
            managers,
            _infrastructure: infrastructure,
            cluster: cluster::create(&admin, &workload.plane).await?,
            admin,
            workload,
            management,
        })
    }

    /// Returns Ok while the managers run.
    pub fn check(&mut self) -> Result<()> {
        self.managers.check()
    }

    /// The log in which core writes why it does not act.
    pub fn core_log(&self) -> Result<PathBuf> {
        self.managers.log(Manager::Core)
    }

    /// Creates this many Machines, and waits until all serve and are counted. Core scales uncounted
    /// Machines down instead of updating them.
    pub async fn fill(&self, count: usize) -> Result<()> {
        let all = deployments(count)?;
        for (name, replicas) in all {
            let rolling = all_at_once(replicas);
            let in_first = (replicas, FIRST.version);
            self.cluster.deployment(name, in_first, rolling).await?;
        }
        self.until_all("serve in the old version", count, |one| {
            one.serves(FIRST.version)
        })
        .await?;
        for (name, replicas) in all {
            until_counted(&self.admin, SPACE, name, replicas).await?;
        }
        Ok(())
    }

    /// Requests the new version for all Machines.
    pub async fn change_version(&self, count: usize) -> Result<()> {
        self.cluster.control_plane_reaches(LATEST.version).await?;
        for (name, _) in deployments(count)? {
            self.cluster
                .upgrade_deployment(name, LATEST.version)
                .await?;
        }
        Ok(())
    }

    /// Waits until the condition is true for all `count` Machines. The timeout restarts when it
    /// becomes true for another Machine.
    pub async fn until_all(
        &self,
        what: &str,
        count: usize,
        holds: impl Fn(&Machine) -> bool,
    ) -> Result<()> {
        let ask = || async {
            let all = machines::all(&self.admin, SPACE).await?;
            let held = all.iter().filter(|one| holds(one)).count();
            let there = all.len();
            ensure!(
                (held, there) == (count, count),
                "{held} of {there} {what}, {count} are to"
            );
            Ok(())
        };
        objects::until(&format!("Machines that {what}"), PATIENCE, ask).await
    }

    /// Machines of the namespace.
    pub fn machines(&self) -> Result<Api<DynamicObject>> {
        core(&self.admin, "Machine", SPACE)
    }

    /// Their InfraMachines.
    pub fn infra_machines(&self) -> Api<DynamicObject> {
        objects::api(&self.admin, &infrastructure::machine_kind(), Some(SPACE))
    }

    /// Their bootstrap configs.
    pub fn bootstrap_configs(&self) -> Result<Api<DynamicObject>> {
        let kind = objects::kind("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig")?;
        Ok(objects::api(&self.admin, &kind, Some(SPACE)))
    }
}
