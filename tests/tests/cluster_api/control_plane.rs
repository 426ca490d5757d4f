//! KubeadmControlPlanes on the fleet: the real control plane manager asks for each machine just before its turn.

use anyhow::Result;
use careen_tests::decisions::Decisions;
use careen_tests::fleet::images::{FIRST, LATEST, PATCHED};
use careen_tests::machines::{Machine, identities, until_all_serve};
use careen_tests::rollout::Rollout;
use careen_tests::world::{self, World};
use vm_tests::cluster_api::cluster::Cluster;

use crate::VERSION;

/// A Cluster whose control plane of three serves in the first version.
struct Scene {
    cluster: Cluster,
    before: Vec<Machine>,
    rollout: Rollout,
}

impl Scene {
    async fn new(world: &World, name: &str, max_surge: u32) -> Result<Self> {
        let first = FIRST.version;
        let cluster = Cluster::with_control_plane(world.plane, name, first, max_surge).await?;
        let before = until_all_serve(&world.client, name, 3, first).await?;
        let rollout = Rollout::watch(&world.client, name).await?;
        Ok(Self {
            cluster,
            before,
            rollout,
        })
    }

    async fn upgrades(&self, world: &World, version: &str) -> Result<Vec<Machine>> {
        self.cluster.upgrade_control_plane(version).await?;
        let after = until_all_serve(&world.client, &self.cluster.name, 3, version).await?;
        println!("{}:\n{}", self.cluster.name, self.rollout.lines());
        Ok(after)
    }
}

/// From v1.35 to v1.36 the manager also takes a feature gate out of the kubeadm configuration: a change that must be allowed, or
/// the machine is deleted.
#[test]
fn a_control_plane_is_upgraded_one_by_one_in_place_across_a_minor() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "reigns", 0).await?;
        let decisions = Decisions::watch(&world.client, "reigns", &scene.before).await?;
        for version in [PATCHED.version, LATEST.version] {
            let after = scene.upgrades(world, version).await?;
            assert_eq!(identities(&scene.before), identities(&after));
        }
        let one_by_one = |version: &str, order: [u8; 3]| {
            order.map(|n| format!("{n} begins {version}\n{n} serves {version}"))
        };
        let golden = [
            one_by_one("v1.35.5", [1, 2, 3]),
            one_by_one("v1.36.3", [1, 2, 3]),
        ];
        assert_eq!(scene.rollout.lines(), golden.concat().join("\n"));
        assert_eq!(
            (scene.rollout.gone(), scene.rollout.most_updating()),
            (0, 1)
        );
        decisions
            .held_against("control-plane-across-a-minor")
            .await?;
        scene.cluster.remove().await
    })
}

#[test]
fn with_one_to_spare_one_comes_two_are_upgraded_in_place_and_one_goes() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "surges", 1).await?;
        let after = scene.upgrades(world, LATEST.version).await?;
        let before = identities(&scene.before);
        let kept = identities(&after)
            .into_iter()
            .filter(|one| before.contains(one));
        assert_eq!(kept.count(), 2, "{}", scene.rollout.lines());
        assert_eq!(scene.rollout.gone(), 1);
        scene.cluster.remove().await
    })
}
