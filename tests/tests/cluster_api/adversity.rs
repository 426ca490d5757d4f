//! What goes wrong in the middle of a rollout. It takes longer, and replaces nobody.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use anyhow::Result;
use careen_tests::fleet::images::LATEST;
use careen_tests::machines;
use careen_tests::wire::State;
use careen_tests::world;
use vm_tests::cluster_api::cluster::Rolling;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

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
fn a_provider_killed_at_every_word_that_it_writes_upgrades_them_all_the_same() -> Result<()> {
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

/// Core gives a call ten seconds.
#[test]
fn hook_calls_that_hang_or_are_cut_are_made_again_and_taken_for_nothing_else() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "cut-off", 2, ONE_AT_A_TIME).await?;
        world.provider.wire.set(State::Dead);
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        tokio::time::sleep(Duration::from_secs(12)).await;
        assert_eq!(scene.rollout.lines(), "", "nothing begins unasked");
        world.provider.wire.set(State::Open);
        scene.until("1 begins v1.36.3").await?;
        world.provider.wire.set(State::Cut);
        tokio::time::sleep(Duration::from_secs(5)).await;
        world.provider.wire.set(State::Open);
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
        tokio::time::sleep(Duration::from_secs(12)).await;
        world.plane.thaw_api_server()?;
        scene.arrives(world, LATEST.version).await
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
