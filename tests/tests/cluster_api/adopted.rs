//! A node that joined before Cluster API knew of it, and becomes the only Machine of a
//! MachineDeployment without a change. It has a name of its own.

use anyhow::Result;
use careen_tests::fleet::images::{FIRST, LATEST};
use careen_tests::world::{self, World};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

const NODE: &str = "joined-before";

async fn node(world: &World) -> Result<Node> {
    let nodes: Api<Node> = Api::all(world.client.clone());
    Ok(nodes.get(NODE).await?)
}

#[test]
fn adopted_node_is_upgraded_in_place_as_a_machine() -> Result<()> {
    world::run(VERSION, |world| async move {
        world.fleet.joins("adopted", NODE, FIRST.version).await?;
        let before = node(world).await?;
        let scene = Scene::new(world, "adopted", 1, ONE_AT_A_TIME).await?;
        let machine = scene.before[0].name();
        let provider_id = node(world).await?.spec.and_then(|spec| spec.provider_id);
        assert_eq!(provider_id, Some(format!("rig://{machine}")));
        assert!(world.fleet.machine(&machine).is_none(), "it got another");
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.arrives(world, LATEST.version).await?;
        assert_eq!(node(world).await?.uid(), before.uid(), "another Node");
        let host = world.fleet.machine(NODE);
        assert_eq!(host.map(|host| host.boots()), Some(1), "one reboot");
        Ok(())
    })
}
