//! Workers that are upgraded in place: the real core asks, careen-provider answers, the real agent's loop works on each host.

use anyhow::Result;
use careen_tests::fleet::images::{FIRST, LATEST, MINOR};
use careen_tests::machines::{self, Machine, identities, until_all_serve};
use careen_tests::rollout::Rollout;
use careen_tests::world::{self, World};
use vm_tests::cluster_api::cluster::{Cluster, Rolling};
use vm_tests::cluster_api::objects;

use crate::VERSION;

const ONE_AT_A_TIME: Rolling = Rolling {
    max_surge: 0,
    max_unavailable: 1,
};

/// A Cluster whose workers serve in the first version, while its control plane is ahead already.
struct Scene {
    cluster: Cluster,
    before: Vec<Machine>,
    rollout: Rollout,
}

impl Scene {
    async fn new(world: &World, name: &str, count: u32, rolling: Rolling) -> Result<Self> {
        let cluster = Cluster::with_workers(world.plane, name, FIRST.version).await?;
        cluster
            .deployment("w", (count, FIRST.version), rolling)
            .await?;
        let before = until_all_serve(&world.client, name, count as usize, FIRST.version).await?;
        cluster.control_plane_reaches(LATEST.version).await?;
        let rollout = Rollout::watch(&world.client, name).await?;
        Ok(Self {
            cluster,
            before,
            rollout,
        })
    }

    /// Waits until all Machines serve in this version, and holds that they are the same as before.
    async fn arrives(&self, world: &World, version: &str) -> Result<()> {
        let count = self.before.len();
        let after = until_all_serve(&world.client, &self.cluster.name, count, version).await?;
        println!("{}:\n{}", self.cluster.name, self.rollout.lines());
        assert_eq!(identities(&self.before), identities(&after));
        assert_eq!(self.rollout.gone(), 0, "replaced");
        Ok(())
    }

    async fn until(&self, line: &str) -> Result<()> {
        let ask = || async {
            let lines = self.rollout.lines();
            anyhow::ensure!(lines.contains(line), "{lines}");
            Ok(())
        };
        objects::until(line, world::PATIENCE, ask).await
    }
}

#[test]
fn a_new_version_reaches_one_machine_after_the_other_in_place() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "one-by-one", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await?;
        let golden = "1 begins v1.36.3\n1 serves v1.36.3\n2 begins v1.36.3\n2 serves v1.36.3";
        assert_eq!(scene.rollout.lines(), golden);
        for machine in &scene.before {
            let boots = world
                .fleet
                .machine(&machine.name())
                .map(|host| host.boots());
            assert_eq!(boots, Some(1), "one reboot each, of {}", machine.name());
        }
        Ok(())
    })
}

#[test]
fn as_many_are_upgraded_at_once_as_may_be_unavailable() -> Result<()> {
    world::run(VERSION, |world| async move {
        let rolling = Rolling {
            max_surge: 0,
            max_unavailable: 2,
        };
        let scene = Scene::new(world, "two-at-once", 4, rolling).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await?;
        assert_eq!(scene.rollout.most_updating(), 2);
        assert_eq!(scene.rollout.most_machines(), 4);
        Ok(())
    })
}

#[test]
fn with_one_to_spare_one_comes_one_stays_in_place_and_one_goes() -> Result<()> {
    world::run(VERSION, |world| async move {
        let rolling = Rolling {
            max_surge: 1,
            max_unavailable: 0,
        };
        let scene = Scene::new(world, "spare", 2, rolling).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        let after = until_all_serve(&world.client, "spare", 2, LATEST.version).await?;
        let before = identities(&scene.before);
        let kept = identities(&after)
            .into_iter()
            .filter(|one| before.contains(one));
        assert_eq!(kept.count(), 1, "{}", scene.rollout.lines());
        assert_eq!(scene.rollout.most_machines(), 3);
        Ok(())
    })
}

#[test]
fn a_version_changed_in_the_middle_is_reached_by_all() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "changed", 3, ONE_AT_A_TIME).await?;
        scene.cluster.upgrade_deployment("w", MINOR.version).await?;
        scene.until("1 serves v1.36.2").await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await?;
        assert!(
            scene.rollout.most_updating() <= 1,
            "{}",
            scene.rollout.lines()
        );
        Ok(())
    })
}

#[test]
fn a_deployment_scaled_up_in_the_middle_keeps_its_machines() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "scaled", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.until("1 begins v1.36.3").await?;
        scene.cluster.scale_deployment("w", 3).await?;
        let after = until_all_serve(&world.client, "scaled", 3, LATEST.version).await?;
        let after = identities(&after);
        for one in identities(&scene.before) {
            assert!(after.contains(&one), "{}", scene.rollout.lines());
        }
        Ok(())
    })
}

#[test]
fn misfortunes_delay_a_rollout_and_replace_nobody() -> Result<()> {
    world::run(VERSION, |world| async move {
        world.fleet.misfortunes_for("unlucky", world::seed()?);
        let rolling = Rolling {
            max_surge: 0,
            max_unavailable: 3,
        };
        let scene = Scene::new(world, "unlucky", 6, rolling).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await
    })
}

#[test]
fn core_killed_in_the_middle_goes_on_where_it_was() -> Result<()> {
    use vm_tests::cluster_api::Manager::Core;
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "core-dies", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.until("1 begins v1.36.3").await?;
        world.managers.lock().await.kill(Core);
        world.managers.lock().await.start_again(Core).await?;
        scene.arrives(world, LATEST.version).await
    })
}

#[test]
fn an_api_server_that_hangs_in_the_middle_is_waited_out() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "hangs", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.until("1 begins v1.36.3").await?;
        world.plane.freeze_api_server()?;
        tokio::time::sleep(std::time::Duration::from_secs(12)).await;
        world.plane.thaw_api_server()?;
        scene.arrives(world, LATEST.version).await
    })
}

#[test]
fn a_health_check_does_not_replace_a_machine_whose_node_reboots() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "watched", 2, ONE_AT_A_TIME).await?;
        scene.cluster.health_check("w", 1).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await?;
        for machine in machines::all(&world.client, "watched").await? {
            let skips = machine.annotation("cluster.x-k8s.io/skip-remediation");
            assert_eq!(skips, "", "watched again once it is done");
        }
        Ok(())
    })
}
