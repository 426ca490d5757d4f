//! `neverReplace`: a change that no node can make holds the rollout, however often core calls,
//! until a person removes the setting. A version that no image carries holds the rollout without
//! any setting.

use anyhow::{Context, Result};
use careen_tests::core_log;
use careen_tests::events;
use careen_tests::fleet::images::{FIRST, GOOD, LATEST};
use careen_tests::machines::{identities, until_all_serve};
use careen_tests::provider_release::fleet_catalogue;
use careen_tests::world::{self, World};
use kube::api::GroupVersionKind;
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::cluster::deployment_kind;
use testkit::cluster_api::objects;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

/// The number of core's calls after which the rollout counts as held.
const ASKED: usize = 5;

/// careen-provider's answer, which it also writes in an Event.
const HELD: &str = "held, because neverReplace is set";

#[test]
fn never_replace_on_the_cluster_holds_what_in_place_cannot_do() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "never", 2, ONE_AT_A_TIME).await?;
        let cluster = objects::kind("cluster.x-k8s.io/v1beta2", "Cluster")?;
        let moved = json!({ "version": LATEST.version, "failureDomain": "elsewhere" });
        annotate(&scene, &cluster, "never", json!("true")).await?;
        scene.ask(moved).await?;
        is_held(world, &scene, HELD, ("NotInPlace", "failureDomain")).await?;
        annotate(&scene, &cluster, "never", Value::Null).await?;
        is_replaced(world, &scene).await
    })
}

#[test]
fn a_word_on_the_machine_deployment_holds_it_too() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "never-these", 2, ONE_AT_A_TIME).await?;
        let bigger = json!({ "hardware": "bigger" });
        scene.cluster.template("bigger", bigger).await?;
        let bigger =
            json!({ "version": LATEST.version, "infrastructureRef": { "name": "bigger" } });
        annotate(&scene, &deployment_kind(), "w", json!("true")).await?;
        scene.ask(bigger).await?;
        is_held(world, &scene, HELD, ("NotInPlace", "hardware")).await?;
        annotate(&scene, &deployment_kind(), "w", Value::Null).await?;
        is_replaced(world, &scene).await
    })
}

/// All Clusters share the catalogue, so no other test runs at the same time.
#[test]
fn version_without_an_image_is_held_until_the_catalogue_has_it() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        fleet_catalogue(&world.client, &[FIRST]).await?;
        let ended = waits_for_an_image(world).await;
        fleet_catalogue(&world.client, &GOOD).await?;
        ended
    })
}

async fn waits_for_an_image(world: &World) -> Result<()> {
    let scene = Scene::new(world, "imageless", 2, ONE_AT_A_TIME).await?;
    scene.ask(json!({ "version": LATEST.version })).await?;
    let said = "no ImageCatalogue has an entry for v1.36.3";
    is_held(world, &scene, said, ("NoImage", "MachineDeployment w")).await?;
    fleet_catalogue(&world.client, &GOOD).await?;
    scene.arrives(world, LATEST.version).await
}

async fn annotate(scene: &Scene, kind: &GroupVersionKind, name: &str, word: Value) -> Result<()> {
    let change = json!({ "metadata": { "annotations": { names::NEVER_REPLACE: word } } });
    scene.cluster.change(kind, name, change).await
}

/// Asserts that core calls repeatedly and gets the answer `said`, and that an Event with this
/// reason contains `said` and `named`. Also asserts that no Machine appeared or disappeared.
async fn is_held(
    world: &World,
    scene: &Scene,
    said: &str,
    (reason, named): (&str, &str),
) -> Result<()> {
    let cluster = &scene.cluster.name;
    let deployment = format!("MachineDeployment=\"{cluster}/w\"");
    core_log::until(world, &[&deployment, said], ASKED).await?;
    scene.stands_still(world).await?;
    let notes = events::notes(&world.client, cluster, ("w", reason)).await?;
    let note = notes.first().context("no Event")?;
    assert!(note.contains(said) && note.contains(named), "{note}");
    Ok(())
}

async fn is_replaced(world: &World, scene: &Scene) -> Result<()> {
    let (cluster, count) = (&scene.cluster.name, scene.before.len());
    let after = until_all_serve(&world.client, cluster, count, LATEST.version).await?;
    let before = identities(&scene.before);
    for one in identities(&after) {
        assert!(!before.contains(&one), "{}", scene.rollout.lines());
    }
    Ok(())
}
