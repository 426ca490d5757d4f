//! MachineDeployments on the fleet.

use anyhow::Result;
use careen_tests::fleet::images::FIRST;
use careen_tests::machines::until_all_serve;
use careen_tests::world;
use vm_tests::cluster_api::cluster::{Cluster, Rolling};

use crate::VERSION;

const ONE_AT_A_TIME: Rolling = Rolling {
    max_surge: 0,
    max_unavailable: 1,
};

#[test]
fn machines_become_nodes_and_serve() -> Result<()> {
    world::run(VERSION, |world| async move {
        let cluster = Cluster::with_workers(world.plane, "births", FIRST.version).await?;
        cluster
            .deployment("w", (2, FIRST.version), ONE_AT_A_TIME)
            .await?;
        until_all_serve(&world.client, "births", 2, FIRST.version).await?;
        Ok(())
    })
}
