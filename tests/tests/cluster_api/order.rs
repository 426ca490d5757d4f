//! The order of the start: core first with its gates on, and careen-provider later.

use anyhow::{Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::fleet::images::{LATEST, MINOR};
use careen_tests::machines::{identities, until_all_serve, until_counted};
use careen_tests::provider_process::extensions;
use careen_tests::world::{self, World};
use careen_tests::{caller, core_log};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::cluster::deployment_kind;
use testkit::cluster_api::provider::until_discovered;
use testkit::cluster_api::{Manager, objects};

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

/// What core logs when it has discovered all extensions that it found at its start.
const WARM: &[&str] = &["The extension registry is warmed up"];

/// Kills core, and starts it as its pod would.
async fn restart_core(world: &World) -> Result<()> {
    let mut managers = world.managers.lock().await;
    managers.kill(Manager::Core);
    managers.start_again(Manager::Core).await
}

/// Core waits a minute for its extensions.
#[test]
fn core_exits_without_the_provider_and_resumes_in_place_later() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "unanswered", 2, ONE_AT_A_TIME).await?;
        world.provider.kill()?;
        restart_core(world).await?;
        scene.ask(json!({ "version": LATEST.version })).await?;
        let left = || async {
            let said = world.managers.lock().await.check();
            let said = said.err().map(|error| error.to_string());
            let said = said.unwrap_or_default();
            ensure!(said.contains("warmup timed out"), "{said}");
            Ok(())
        };
        objects::until("core leaves", PATIENCE, left).await?;
        scene.stands_still(world).await?;
        world.provider.start_again()?;
        restart_core(world).await?;
        scene.arrives(world, LATEST.version).await
    })
}

/// Until then, no extension objects to a replacement.
#[test]
fn core_replaces_machines_until_it_discovers_the_provider() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "unheard", 1, ONE_AT_A_TIME).await?;
        let never = json!({ "metadata": { "annotations": { names::NEVER_REPLACE: "true" } } });
        let deployment = deployment_kind();
        scene.cluster.change(&deployment, "w", never).await?;
        world.provider.kill()?;
        let extensions = extensions(&world.client)?;
        extensions
            .delete(names::MANAGER, &DeleteParams::default())
            .await?;
        let before = core_log::lines(world, WARM).await?.len();
        restart_core(world).await?;
        core_log::until(world, WARM, before + 1).await?;
        world.provider.announce(&world.client).await?;
        until_undiscovered(world).await?;
        scene.ask(json!({ "version": MINOR.version })).await?;
        let replaced = until_all_serve(&world.client, "unheard", 1, MINOR.version).await?;
        assert_ne!(identities(&scene.before), identities(&replaced));
        until_counted(&world.client, "unheard", "w", 1).await?;

        world.provider.start_again()?;
        until_discovered(&world.client).await?;
        scene.ask(json!({ "version": LATEST.version })).await?;
        let after = until_all_serve(&world.client, "unheard", 1, LATEST.version).await?;
        assert_eq!(identities(&replaced), identities(&after));
        Ok(())
    })
}

/// A forced apply of the release's file removes the bundle.
#[test]
fn core_restores_a_removed_bundle_from_the_providers_secret() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let extensions = extensions(&world.client)?;
        let bundle_of = |config: &DynamicObject| {
            let found = config.data.pointer("/spec/clientConfig/caBundle");
            found.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let trusted = caller::bundle(&world.client).await?;
        let removed = json!({ "spec": { "clientConfig": { "caBundle": null } } });
        let params = PatchParams::default();
        let without = extensions
            .patch(names::MANAGER, &params, &Patch::Merge(removed))
            .await?;
        assert_eq!(bundle_of(&without), "");
        let restored = || async {
            let config = extensions.get(names::MANAGER).await?;
            ensure!(bundle_of(&config) == trusted, "not yet");
            Ok(())
        };
        objects::until("the bundle", PATIENCE, restored).await?;
        until_discovered(&world.client).await
    })
}

/// Waits until core reports that the extension does not answer.
async fn until_undiscovered(world: &World) -> Result<()> {
    let api = extensions(&world.client)?;
    let ask = || async {
        let status = api.get(names::MANAGER).await?.data["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let nobody = |one: &Value| one["type"] == "Discovered" && one["status"] == "False";
        ensure!(conditions.iter().any(nobody), "{status}");
        Ok(())
    };
    objects::until("Discovered: False", PATIENCE, ask).await
}
