//! In-place upgrades of workers: the real core calls, careen-provider answers, and the real agent's
//! loop works on each host.

use anyhow::Result;
use careen_tests::fleet::images::{BAD, LATEST};
use careen_tests::machines::{self, Machine};
use careen_tests::provider_release::catalogue;
use careen_tests::world;
use testkit::cluster_api::Manager;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

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
        assert_eq!(scene.working.most(), 1, "as the Nodes say it");
        scene.rebooted(world, 1);
        scene.decisions.held_against("one-by-one").await
    })
}

#[test]
fn bad_image_holds_the_rollout_until_a_good_one_replaces_it() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "holds", 2, ONE_AT_A_TIME).await?;
        catalogue(&world.client, "holds", BAD).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        // The Machine already gives the reason during the fallback. Another image would then have
        // to wait until the node has answered.
        let said = "failed: required check disk failed: no /dev/sdb";
        let held = |machines: &[Machine]| {
            let says = |machine: &&Machine| machine.message("Updating").contains(said);
            machines.iter().filter(says).count() == 1
        };
        machines::until(&world.client, "holds", said, held).await?;
        assert_eq!(
            scene.rollout.lines(),
            "1 begins v1.36.3",
            "the other one is left alone"
        );
        catalogue(&world.client, "holds", LATEST).await?;
        scene.arrives(world, LATEST.version).await?;
        scene.decisions.held_against("holds-and-heals").await
    })
}

#[test]
fn core_killed_in_the_middle_goes_on_where_it_was() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "core-dies", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.until("1 begins v1.36.3").await?;
        world.managers.lock().await.kill(Manager::Core);
        world
            .managers
            .lock()
            .await
            .start_again(Manager::Core)
            .await?;
        scene.arrives(world, LATEST.version).await
    })
}
