//! Wide rollouts: as many Machines as the environment requests, several of them at the same time.

use std::time::Duration;

use anyhow::Result;
use careen_tests::fleet::images::LATEST;
use careen_tests::{wide, world};
use testkit::cluster_api::cluster::Rolling;

use crate::VERSION;
use crate::scene::Scene;

#[test]
fn misfortunes_delay_a_rollout_and_replace_nobody() -> Result<()> {
    world::run(VERSION, |world| async move {
        for seed in wide::seeds()? {
            println!("CAREEN_SEED={seed}");
            let name = format!("unlucky-{seed}");
            world.fleet.misfortunes_for(&name, seed);
            let count = wide::machines(6)?;
            let half = Rolling {
                max_surge: 0,
                max_unavailable: count / 2,
            };
            let scene = Scene::new(world, &name, count, half).await?;
            scene
                .cluster
                .upgrade_deployment("w", LATEST.version)
                .await?;
            scene.arrives(world, LATEST.version).await?;
            scene.cluster.remove().await?;
        }
        Ok(())
    })
}

#[test]
fn as_many_are_upgraded_at_once_as_may_be_unavailable() -> Result<()> {
    world::run(VERSION, |world| async move {
        let count = wide::machines(4)?;
        // Longer than core takes to call for the second Machine. Otherwise they would never work at
        // the same time.
        world
            .fleet
            .boots_in("half-at-once", Duration::from_secs(10));
        let half = Rolling {
            max_surge: 0,
            max_unavailable: count / 2,
        };
        let scene = Scene::new(world, "half-at-once", count, half).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await?;
        let half = usize::try_from(count / 2)?;
        let (updating, working) = (scene.rollout.most_updating(), scene.working.most());
        // With many Machines, the first are done before core calls for the last.
        assert!(updating.max(working) <= half, "{updating}, {working}");
        assert!(updating.min(working) >= 2, "{updating}, {working}");
        assert_eq!(scene.rollout.most_machines(), scene.before.len());
        Ok(())
    })
}
