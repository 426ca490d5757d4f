//! KubeadmControlPlanes on the fleet.

use anyhow::Result;
use careen_tests::fleet::images::FIRST;
use careen_tests::machines::until_all_serve;
use careen_tests::world;
use vm_tests::cluster_api::cluster::Cluster;

use crate::VERSION;

#[test]
fn three_machines_of_a_control_plane_become_nodes_and_serve() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let cluster = Cluster::with_control_plane(world.plane, "reigns", FIRST.version, 0).await?;
        until_all_serve(&world.client, "reigns", 3, FIRST.version).await?;
        cluster.remove().await
    })
}
