//! Faults in the middle of a rollout. The rollout takes longer, and replaces no Machine.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use anyhow::Result;
use careen_tests::fleet::images::LATEST;
use careen_tests::{machines, world};

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

#[test]
fn provider_killed_at_every_write_upgrades_all_machines() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "mortal", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        let deaths = AtomicU32::new(0);
        let arrived = tokio::select! {
            arrived = scene.arrives(world, LATEST.version) => arrived,
            ended = world.provider.dies_at_every_write(&world.client, &deaths) => ended,
        };
        world.provider.start_again()?;
        let deaths = deaths.into_inner();
        assert!(
            deaths >= 4,
            "only {deaths}: two machines, each marked and its node asked"
        );
        arrived
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
        tokio::time::sleep(Duration::from_secs(12)).await;
        world.plane.thaw_api_server()?;
        scene.arrives(world, LATEST.version).await
    })
}

/// Every watch breaks, the server refuses every connection for a while, and all open connections
/// are gone.
#[test]
fn rollout_continues_after_the_api_server_restarts() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        // This is longer than the longest retry delay of the test's own watch after an API server
        // outage. Otherwise the watch would miss the start of the second upgrade.
        let boot = Duration::from_secs(30);
        world.fleet.boots_in("restarts", boot);
        let scene = Scene::new(world, "restarts", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        for line in ["1 begins v1.36.3", "2 begins v1.36.3"] {
            scene.until(line).await?;
            world.plane.stop_api_server();
            tokio::time::sleep(Duration::from_secs(3)).await;
            world.plane.start_api_server().await?;
        }
        scene.arrives(world, LATEST.version).await?;
        scene.rebooted(world, 1);
        Ok(())
    })
}

#[test]
fn a_health_check_does_not_replace_a_machine_whose_node_reboots() -> Result<()> {
    world::run(VERSION, |world| async move {
        world.fleet.boots_in("watched", Duration::from_secs(8));
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
