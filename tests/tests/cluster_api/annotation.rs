//! The annotation flow: only an annotation on the Machine requests the upgrade, and the
//! InfraMachine reports its state.

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::fleet::images::LATEST;
use careen_tests::machines::core;
use careen_tests::world::{self, World};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::infrastructure::{GROUP, VERSION as INFRA_VERSION};
use testkit::cluster_api::objects;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

/// The InfraMachine of a Machine. It has the same name.
fn infra(world: &World, cluster: &str) -> Result<Api<DynamicObject>> {
    let kind = objects::kind(&format!("{GROUP}/{INFRA_VERSION}"), "RigMachine")?;
    Ok(objects::api(&world.client, &kind, Some(cluster)))
}

fn condition<'a>(object: &'a DynamicObject, word: &str) -> &'a Value {
    let all = object.data.pointer("/status/conditions");
    let found = all
        .and_then(Value::as_array)
        .and_then(|all| all.iter().find(|condition| condition["type"] == word));
    found.unwrap_or(&Value::Null)
}

/// Waits until the condition is true for the InfraMachine.
async fn until(
    api: &Api<DynamicObject>,
    name: &str,
    what: &str,
    holds: impl Fn(&DynamicObject) -> bool,
) -> Result<DynamicObject> {
    let ask = || async {
        let object = api.get(name).await?;
        ensure!(holds(&object), "{}", object.data["status"]);
        Ok(object)
    };
    objects::until(what, PATIENCE, ask).await
}

#[test]
fn annotated_machine_is_upgraded_and_infra_machine_reports_it() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "annotated", 1, ONE_AT_A_TIME).await?;
        let name = scene.before.first().context("no Machine")?.name();
        let machines = core(&world.client, "Machine", "annotated")?;
        let asked = json!({
            "metadata": { "annotations": { names::ASK: "" } }, "spec": { "version": LATEST.version },
        });
        let how = PatchParams::default();
        machines.patch(&name, &how, &Patch::Merge(asked)).await?;
        let infra = infra(world, "annotated")?;
        let begun =
            |object: &DynamicObject| condition(object, names::CONDITION)["status"] == "False";
        until(&infra, &name, "InplaceUpgrade False", begun).await?;
        let arrived = |object: &DynamicObject| {
            let version = object.data.pointer("/status/version");
            version == Some(&json!(LATEST.version))
                && condition(object, names::CONDITION)["status"] == "True"
                && condition(object, names::READY)["status"] == "True"
        };
        until(&infra, &name, "arrived", arrived).await?;
        let left = || async {
            let machine = machines.get(&name).await?;
            let annotations = machine.metadata.annotations.unwrap_or_default();
            let ours = [names::ASK, names::MARK, names::SKIP_REMEDIATION];
            ensure!(
                !ours.iter().any(|key| annotations.contains_key(*key)),
                "{annotations:?}"
            );
            Ok(())
        };
        objects::until("all annotations gone", PATIENCE, left).await?;
        assert_eq!(scene.rollout.gone(), 0, "replaced");
        Ok(())
    })
}
