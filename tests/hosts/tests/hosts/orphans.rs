//! A host whose claim no machine has any more.

use anyhow::{Context, Result, ensure};
use hosts_tests::{Played, Running, Scene};
use infrastructure::{Policy, Wanted};
use kube::ResourceExt;
use kube::api::Api;
use provider::kinds::{CareenHost, CareenMachine, FORCE_RELEASE, ORPHAN};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Nothing waits for the two looks.
fn policy() -> Policy {
    Policy {
        settle: 0,
        orphan_looks: 0,
        ..Policy::default()
    }
}

/// Lets the host act until this holds of it.
async fn until(
    scene: &Scene,
    host: &Mutex<Played>,
    what: &str,
    holds: impl Fn(&CareenHost) -> bool,
) -> Result<CareenHost> {
    let hosts: Api<CareenHost> = scene.all();
    scene
        .until(what, || async {
            // Its Lease may not be there yet.
            let _ = host.lock().await.renew().await;
            host.lock().await.step().await?;
            let object = hosts.get("h-0").await?;
            ensure!(holds(&object), "{:?} {:?}", object.metadata, object.spec);
            Ok(object)
        })
        .await
}

fn word(id: &str) -> Value {
    json!({ "metadata": { "annotations": { FORCE_RELEASE: id } } })
}

/// Somebody removes the machine, and its finalizer with it.
async fn remove_machine(scene: &Scene) -> Result<()> {
    let none = json!({ "metadata": { "finalizers": null } });
    scene.delete_machine("m-0").await?;
    scene.change::<CareenMachine>("m-0", none).await.map(drop)
}

#[tokio::test]
async fn orphan_leaves_after_a_word_that_is_not_older_than_it() -> Result<()> {
    let scene = Scene::new("orphans").await?;
    scene.host("h-0").await?;
    let host = Mutex::new(Played::new(scene.admin.clone(), &scene.space, "h-0"));
    let first = Running::start(&scene.admin, &scene.space, policy()).await?;
    scene.cluster().await?;
    scene.machine("m-0").await?;
    let machines: Api<CareenMachine> = scene.all();
    let ran = |object: &CareenHost| object.spec.claim.is_some();
    until(&scene, &host, "the host has a claim", ran).await?;
    scene
        .until("the machine is provisioned", || async {
            host.lock().await.step().await?;
            let machine = machines.get("m-0").await?;
            let status = machine.status.unwrap_or_default();
            let done = status.initialization.and_then(|one| one.provisioned);
            ensure!(done == Some(true), "not provisioned");
            Ok(())
        })
        .await?;
    let claim = |object: &CareenHost| object.spec.claim.clone().context("the claim is gone");
    let hosts: Api<CareenHost> = scene.all();
    let id = claim(&hosts.get("h-0").await?)?.id;
    scene.change::<CareenHost>("h-0", word(&id)).await?;
    drop(first);
    remove_machine(&scene).await?;
    let _second = Running::start(&scene.admin, &scene.space, policy()).await?;
    let named = |object: &CareenHost| object.annotations().get(ORPHAN) == Some(&id);
    let object = until(&scene, &host, "it is named an orphan", named).await?;
    assert_eq!(object.annotations().get(FORCE_RELEASE), None, "an old word");
    assert_eq!(claim(&object)?.wanted, Wanted::Joined);
    assert!(object.spec.cordoned);
    scene.change::<CareenHost>("h-0", word(&id)).await?;
    let free = |object: &CareenHost| object.spec.claim.is_none();
    let object = until(&scene, &host, "it has left", free).await?;
    assert_eq!(object.annotations().get(FORCE_RELEASE), None);
    assert_eq!(object.annotations().get(ORPHAN), None);
    Ok(())
}
