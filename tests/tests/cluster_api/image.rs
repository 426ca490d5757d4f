//! The InfraMachine itself names its image, from the template that the MachineDeployment refers to.

use anyhow::Result;
use careen_tests::fleet::images::{BAD, Image, LATEST, REBUILT};
use careen_tests::machines::Machine;
use careen_tests::provider_release::catalogue;
use careen_tests::world::{self, World};
use serde_json::json;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

/// Creates a template that names this image, and makes the MachineDeployment refer to it.
async fn ask_for(scene: &Scene, image: Image) -> Result<()> {
    let names = json!({ "osImage": image.reference() });
    scene.cluster.template("named", names).await?;
    let named = json!({ "version": image.version, "infrastructureRef": { "name": "named" } });
    scene.ask(named).await
}

/// Asserts that every host runs this image, and that its Node has no request for another.
fn all_run(world: &World, scene: &Scene, image: Image) {
    for name in scene.before.iter().map(Machine::name) {
        let runs = world.fleet.machine(&name).and_then(|host| host.image());
        assert_eq!(runs, Some(image), "{name}");
    }
    let decided = scene.decisions.text();
    let asks = |line: &&str| line.contains("asks the Node");
    let of_it = |line: &str| line.ends_with(&image.reference());
    assert!(decided.lines().filter(asks).all(of_it), "{decided}");
}

#[test]
fn infra_machine_image_takes_precedence_over_the_catalogue() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "named", 2, ONE_AT_A_TIME).await?;
        catalogue(&world.client, "named", BAD).await?;
        ask_for(&scene, LATEST).await?;
        scene.arrives(world, LATEST.version).await?;
        all_run(world, &scene, LATEST);
        Ok(())
    })
}

#[test]
fn another_image_of_the_same_version_is_a_rollout_in_place_too() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "rebuilt", 2, ONE_AT_A_TIME).await?;
        ask_for(&scene, REBUILT).await?;
        scene.until("2 serves v1.35.4").await?;
        scene.arrives(world, REBUILT.version).await?;
        all_run(world, &scene, REBUILT);
        scene.rebooted(world, 1);
        Ok(())
    })
}
