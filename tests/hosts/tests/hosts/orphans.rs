//! A host whose claim no machine has any more.

use anyhow::{Context, Result, ensure};
use hosts_tests::{Played, Running, Scene};
use infrastructure::{Policy, Wanted};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use provider::kinds::{CareenHost, CareenMachine, FORCE_RELEASE, ORPHAN};
use serde_json::{Value, json};
use testkit::cluster_api::objects;
use tokio::sync::Mutex;

use crate::workload;

/// Nothing waits for the two looks.
pub fn policy() -> Policy {
    Policy {
        settle: 0,
        orphan_looks: 0,
        ..Policy::default()
    }
}

/// Lets the host act until this holds of it.
pub async fn until(
    scene: &Scene,
    host: &Mutex<Played>,
    what: &str,
    holds: impl Fn(&CareenHost) -> bool,
) -> Result<CareenHost> {
    let hosts: Api<CareenHost> = scene.all();
    let name = host.lock().await.name.clone();
    scene
        .until(what, || async {
            // Its Lease may not be there yet.
            let _ = host.lock().await.renew().await;
            host.lock().await.step().await?;
            let object = hosts.get(&name).await?;
            ensure!(holds(&object), "{:?} {:?}", object.metadata, object.spec);
            Ok(object)
        })
        .await
}

fn word(id: &str) -> Value {
    json!({ "metadata": { "annotations": { FORCE_RELEASE: id } } })
}

/// Somebody removes the machine, and its finalizer with it.
pub async fn remove_machine(scene: &Scene) -> Result<()> {
    let none = json!({ "metadata": { "finalizers": null } });
    scene.delete_machine("m-0").await?;
    scene.change::<CareenMachine>("m-0", none).await.map(drop)
}

/// A host that has joined for `m-0`, the provider that let it in, and the id of its claim.
pub async fn joined(scene: &Scene, name: &str) -> Result<(Mutex<Played>, Running, String)> {
    scene.host(name).await?;
    let host = Mutex::new(Played::new(scene.admin.clone(), &scene.space, name));
    let provider = Running::start(&scene.admin, &scene.space, policy()).await?;
    scene.cluster().await?;
    scene.machine("m-0").await?;
    let machines: Api<CareenMachine> = scene.all();
    let ran = |object: &CareenHost| object.spec.claim.is_some();
    until(scene, &host, "the host has a claim", ran).await?;
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
    let hosts: Api<CareenHost> = scene.all();
    let id = claim(&hosts.get(name).await?)?.id;
    Ok((host, provider, id))
}

pub fn claim(object: &CareenHost) -> Result<infrastructure::Claim> {
    object.spec.claim.clone().context("the claim is gone")
}

/// The Node of the host, with a pod that a budget holds, one that nothing holds, and one of a
/// DaemonSet. It has no kubelet, so each ends at once.
pub async fn node(scene: &Scene, name: &str, id: &str) -> Result<()> {
    let provider_id = infrastructure::provider_id(&scene.space, name, id);
    objects::apply(
        &scene.admin,
        &json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
            "spec": { "providerID": provider_id },
        }),
    )
    .await?;
    crate::pools::core::runs(scene, name, "v1.36.3").await?;
    let daemon = json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": true }]);
    for (pod, owners) in [("web", json!([])), ("bare", json!([])), ("daemon", daemon)] {
        let finalizers = match pod {
            // The garbage collector deletes it, because its owner does not exist.
            "daemon" => json!(["careen.dev/test"]),
            _ => json!([]),
        };
        scene
            .apply(&json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": pod, "labels": { "app": pod }, "ownerReferences": owners, "finalizers": finalizers,
                },
                "spec": {
                    "nodeName": name, "terminationGracePeriodSeconds": 0,
                    "containers": [{ "name": "c", "image": "i" }],
                },
            }))
            .await?;
        let ready = json!({ "type": "Ready", "status": "True" });
        let status = json!({ "status": { "phase": "Running", "conditions": [ready] } });
        let pods: Api<Pod> = scene.all();
        let how = PatchParams::default();
        pods.patch_status(pod, &how, &Patch::Merge(status)).await?;
    }
    Ok(())
}

/// A budget that lets no pod of `web` go.
async fn hold(scene: &Scene) -> Result<()> {
    let selector = json!({ "matchLabels": { "app": "web" } });
    scene
        .apply(&json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "one" },
            "spec": { "minAvailable": 1, "selector": selector },
        }))
        .await?;
    let budgets: Api<PodDisruptionBudget> = scene.all();
    let counted = || async {
        let status = budgets.get("one").await?.status.unwrap_or_default();
        ensure!(status.current_healthy > 0, "{status:?}");
        Ok(())
    };
    scene.until("the budget is counted", counted).await
}

/// The pods of the namespace that are not about to go, and whether the Node is cordoned.
pub async fn seen(scene: &Scene, name: &str) -> Result<(Vec<String>, bool)> {
    let pods: Api<Pod> = scene.all();
    let all = pods.list(&ListParams::default()).await?;
    let pods = all.iter().map(ResourceExt::name_any).collect();
    let nodes: Api<Node> = Api::all(scene.admin.clone());
    let spec = nodes.get(name).await?.spec.unwrap_or_default();
    Ok((pods, spec.unschedulable == Some(true)))
}

/// Pauses the Node, or ends the pause.
async fn pause(scene: &Scene, node: &str, why: Option<&str>) -> Result<()> {
    let nodes: Api<Node> = Api::all(scene.admin.clone());
    let note = json!({ "metadata": { "annotations": { "careen.dev/paused": why } } });
    let how = PatchParams::default();
    nodes.patch(node, &how, &Patch::Merge(note)).await?;
    Ok(())
}

#[tokio::test]
async fn orphan_leaves_after_a_word_that_is_not_older_than_it() -> Result<()> {
    let scene = Scene::new("orphans").await?;
    let (host, first, id) = joined(&scene, "orphan-0").await?;
    node(&scene, "orphan-0", &id).await?;
    workload::reachable(&scene).await?;
    scene.change::<CareenHost>("orphan-0", word(&id)).await?;
    drop(first);
    remove_machine(&scene).await?;
    let _second = Running::start(&scene.admin, &scene.space, policy()).await?;
    let named = |object: &CareenHost| object.annotations().get(ORPHAN) == Some(&id);
    let object = until(&scene, &host, "it is named an orphan", named).await?;
    assert_eq!(object.annotations().get(FORCE_RELEASE), None, "an old word");
    for _ in 0..10 {
        let object = until(&scene, &host, "it answers", |_| true).await?;
        assert_eq!(claim(&object)?.wanted, Wanted::Joined);
        assert!(object.spec.cordoned);
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    let (pods, cordoned) = seen(&scene, "orphan-0").await?;
    assert_eq!(pods, ["bare", "daemon", "web"], "nobody ordered a drain");
    assert!(!cordoned, "nobody ordered a drain");
    scene.change::<CareenHost>("orphan-0", word(&id)).await?;
    let free = |object: &CareenHost| object.spec.claim.is_none();
    let object = until(&scene, &host, "it has left", free).await?;
    assert_eq!(object.annotations().get(FORCE_RELEASE), None);
    assert_eq!(object.annotations().get(ORPHAN), None);
    Ok(())
}

/// With `--release-orphans`. In the workload cluster careen-provider has only the rights that the
/// docs list.
#[tokio::test]
async fn orphan_that_leaves_alone_is_drained_within_budgets() -> Result<()> {
    let scene = Scene::new("orphans-drained").await?;
    let (host, first, id) = joined(&scene, "drained-0").await?;
    drop(first);
    node(&scene, "drained-0", &id).await?;
    hold(&scene).await?;
    workload::reachable(&scene).await?;
    remove_machine(&scene).await?;
    pause(&scene, "drained-0", Some("looking")).await?;
    let alone = Policy {
        release_orphans: true,
        ..policy()
    };
    let _second = Running::start(&scene.admin, &scene.space, alone).await?;
    let hosts: Api<CareenHost> = scene.all();
    let events: Api<Event> = scene.all();
    let told = async |reason: &str| {
        let _ = host.lock().await.renew().await;
        host.lock().await.step().await?;
        let told = events.list(&ListParams::default()).await?;
        let about = |one: &&Event| one.reason.as_deref() == Some(reason);
        let note = told.iter().find(about).and_then(|one| one.note.clone());
        let object = hosts.get("drained-0").await?;
        note.with_context(|| format!("{:?} {:?}", object.metadata, object.spec))
    };
    let note = scene
        .until("the pause holds the drain", || told("OrphanPaused"))
        .await?;
    ensure!(note.contains("annotation careen.dev/paused"), "{note}");
    let (pods, cordoned) = seen(&scene, "drained-0").await?;
    assert_eq!(pods, ["bare", "daemon", "web"], "a person has paused it");
    assert!(!cordoned, "a person has paused it");
    pause(&scene, "drained-0", None).await?;
    let note = scene
        .until("the budget holds the drain", || told("OrphanHeld"))
        .await?;
    ensure!(
        note.contains(
            "PodDisruptionBudget orphans-drained/one never lets pod orphans-drained/web go"
        ),
        "{note}"
    );
    let object = hosts.get("drained-0").await?;
    assert_eq!(claim(&object)?.wanted, Wanted::Joined, "its node has pods");
    let (pods, cordoned) = seen(&scene, "drained-0").await?;
    assert_eq!(
        pods,
        ["daemon", "web"],
        "the one that nothing holds has left"
    );
    assert!(cordoned);

    let budgets: Api<PodDisruptionBudget> = scene.all();
    budgets.delete("one", &DeleteParams::default()).await?;
    let free = |object: &CareenHost| object.spec.claim.is_none();
    until(&scene, &host, "it has left", free).await?;
    let (pods, _) = seen(&scene, "drained-0").await?;
    assert_eq!(pods, ["daemon"]);
    Ok(())
}
