//! Rollouts of other shapes, and new versions in the middle of one. No Machine that can be upgraded
//! in place is ever replaced.

use anyhow::{Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::fleet::images::{LATEST, MINOR};
use careen_tests::machines::{identities, until_all_serve};
use careen_tests::world;
use testkit::cluster_api::cluster::Rolling;
use testkit::cluster_api::objects;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

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
        // Not before core has counted the first Machine; see `until_counted`.
        scene.until("2 begins v1.36.2").await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await?;
        // Core takes a second Machine out of service here. The Machine in progress is unavailable,
        // so core may scale it down at no cost, but cannot hand it over, and hands over another
        // one. The nodes still upgrade one by one, because careen-provider makes each wait its
        // turn.
        assert_eq!(scene.working.most(), 1, "{}", scene.rollout.lines());
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
fn deployment_scaled_down_mid_rollout_creates_no_machines() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "shrunk", 4, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.until("1 begins v1.36.3").await?;
        scene.cluster.scale_deployment("w", 2).await?;
        let after = until_all_serve(&world.client, "shrunk", 2, LATEST.version).await?;
        let before = identities(&scene.before);
        for one in identities(&after) {
            assert!(before.contains(&one), "{}", scene.rollout.lines());
        }
        let told = || async {
            let gone = scene.rollout.gone();
            ensure!(gone == 2, "{gone} are gone: {}", scene.rollout.lines());
            Ok(())
        };
        objects::until("two gone", PATIENCE, told).await?;
        assert_eq!(scene.rollout.most_machines(), 4, "a new one came");
        Ok(())
    })
}
