//! Two replicas, as a release runs them: either answers core, and one of them leads.

use std::time::Duration;

use anyhow::{Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::fleet::images::LATEST;
use careen_tests::replicas::Replicas;
use careen_tests::world;
use testkit::cluster_api::objects;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

/// How long a node is absent at its reboot. The leader dies during that time.
const AWAY: Duration = Duration::from_secs(5);

/// The first node reboots when the leader dies. Its successor requests the upgrade of the other
/// two, when the Lease has expired.
#[test]
fn second_replica_finishes_the_rollout_after_the_leader_dies() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        world.fleet.boots_in("succeeded", AWAY);
        let scene = Scene::new(world, "succeeded", 3, ONE_AT_A_TIME).await?;
        let mut replicas = Replicas::in_place_of(&world.provider).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        a_node_works(&scene).await?;
        assert!(!replicas.other.leads().await?, "two lead");
        replicas.kill_the_leader();
        scene.arrives(world, LATEST.version).await?;
        assert!(replicas.other.leads().await?);
        let lines = scene.rollout.lines();
        assert_eq!(scene.rollout.most_machines(), 3, "one came: {lines}");
        assert_eq!(scene.rollout.most_updating(), 1, "at once: {lines}");
        assert_eq!(scene.working.most(), 1, "as the Nodes say it: {lines}");
        scene.rebooted(world, 1);
        Ok(())
    })
}

/// Waits until a node has a request, and its agent works on it.
async fn a_node_works(scene: &Scene) -> Result<()> {
    let ask = || async {
        let lines = scene.rollout.lines();
        ensure!(scene.working.most() > 0, "no node works: {lines}");
        Ok(())
    };
    objects::until("a node at work", PATIENCE, ask).await
}
