//! A pool replaces what no upgrade in place changes, and gets on with the cluster autoscaler.

use std::time::Duration;

use anyhow::{Result, ensure};
use hosts_tests::{Played, Running, Scene};
use infrastructure::Policy;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use provider::kinds::{CareenHost, CareenMachine, CareenMachinePool};
use provider::names;
use serde_json::json;
use tokio::sync::Mutex;

use super::{Pool, admin, core};

const NEXT_DATA: &str = "#cloud-config next";

/// Hosts, and their kubelets.
async fn turn(pool: &Pool, hosts: &Mutex<Vec<Played>>) -> Result<()> {
    for host in hosts.lock().await.iter_mut() {
        let _ = host.renew().await;
        host.step().await?;
        remove_old_node(pool, &host.name).await?;
    }
    core::kubelets(&pool.scene).await
}

/// Core deletes the Node of a Machine that is gone.
async fn remove_old_node(pool: &Pool, name: &str) -> Result<()> {
    let (hosts, nodes): (Api<CareenHost>, Api<Node>) =
        (pool.scene.all(), Api::all(admin(pool).clone()));
    let Some(node) = nodes.get_opt(name).await? else {
        return Ok(());
    };
    let id = node.spec.unwrap_or_default().provider_id;
    let claim = hosts.get(name).await?.spec.claim;
    if claim.map(|claim| claim.provider_id) != id {
        nodes.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// The members that are nodes and stay.
fn serving(members: &[CareenMachine]) -> usize {
    let serves = |one: &&CareenMachine| {
        let status = one.status.clone().unwrap_or_default();
        let done = status.initialization.and_then(|one| one.provisioned);
        one.metadata.deletion_timestamp.is_none() && done == Some(true)
    };
    members.iter().filter(serves).count()
}

#[tokio::test]
async fn pool_replaces_machines_with_old_data_only_if_told() -> Result<()> {
    const SPACE: &str = "pool-replacing";
    let scene = Scene::new(SPACE).await?;
    let mut hosts = Vec::new();
    for name in ["r-1", "r-2", "r-3"] {
        scene.host(name).await?;
        hosts.push(Played::new(scene.admin.clone(), SPACE, name));
    }
    let hosts = Mutex::new(hosts);
    let _provider = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    let pool = Pool::new(scene, 2, "#cloud-config").await?;
    let scene = &pool.scene;
    let settled = || async {
        turn(&pool, &hosts).await?;
        pool.settled(2).await
    };
    let first = scene.until("two nodes", settled).await?;

    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "w-data-2" },
            "stringData": { "value": NEXT_DATA, "format": "cloud-config" },
        }))
        .await?;
    let bootstrap = json!({ "spec": { "bootstrap": { "dataSecretName": "w-data-2" } } });
    pool.wants(json!({ "template": bootstrap })).await?;
    let kept = || async {
        turn(&pool, &hosts).await?;
        let (reason, message) = pool.says("TemplateUpToDate").await?;
        ensure!(
            reason == "Kept" && message.starts_with("2 machines"),
            "{reason}: {message}"
        );
        Ok(())
    };
    scene.until("the pool says what it keeps", kept).await?;
    for _ in 0..10 {
        assert_eq!(settled().await?, first, "nobody told it to replace");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    let told = json!({ "spec": { "otherChanges": "Replace" } });
    scene.change::<CareenMachinePool>("w", told).await?;
    let replaced = || async {
        turn(&pool, &hosts).await?;
        let members = pool.members().await?;
        // No more than maxUnavailable, which is 1.
        assert!(serving(&members) >= 1, "{members:?}");
        let ids = pool.settled(2).await?;
        ensure!(ids.iter().all(|id| !first.contains(id)), "{ids:?}");
        let (_, status) = pool.status().await?;
        let mut all = status.conditions.iter();
        let word = all.find(|one| one.kind == "TemplateUpToDate");
        ensure!(word.is_some_and(|one| one.status == "True"), "{word:?}");
        Ok(())
    };
    scene.until("both are replaced", replaced).await?;
    let hosts = hosts.lock().await;
    let ran = hosts.iter().flat_map(|host| &host.ran);
    assert_eq!(ran.filter(|data| *data == NEXT_DATA).count(), 2);
    Ok(())
}

#[tokio::test]
async fn pool_suits_the_cluster_autoscaler() -> Result<()> {
    const SPACE: &str = "pool-autoscaler";
    let scene = Scene::new(SPACE).await?;
    scene.host("a-1").await?;
    let hosts = Mutex::new(vec![Played::new(scene.admin.clone(), SPACE, "a-1")]);
    let _provider = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    let pool = Pool::new(scene, 0, "#cloud-config").await?;
    let scene = &pool.scene;
    let shown = || async {
        let (_, status) = pool.status().await?;
        let cpu = status.capacity.get("cpu").map(String::as_str);
        ensure!(cpu == Some("8"), "{status:?}");
        let system = status.node_info.clone();
        ensure!(
            system.is_some_and(|one| one.architecture == "amd64"),
            "{status:?}"
        );
        Ok(())
    };
    scene.until("an empty pool has a capacity", shown).await?;

    pool.wants(json!({ "replicas": 1 })).await?;
    let settled = || async {
        turn(&pool, &hosts).await?;
        pool.settled(1).await
    };
    scene.until("one node", settled).await?;
    let machines = core::machines(scene)?;
    let mark = async |by: &str| {
        let mark = json!({ "metadata": { "annotations": { names::DELETE_MACHINE: by } } });
        let how = PatchParams::default();
        machines.patch("w-0", &how, &Patch::Merge(mark)).await
    };
    mark(names::MANAGER).await?;
    let unmarked = || async {
        let notes = machines.get("w-0").await?.annotations().clone();
        ensure!(!notes.contains_key(names::DELETE_MACHINE), "{notes:?}");
        Ok(())
    };
    scene
        .until("the pool takes its mark back", unmarked)
        .await?;
    mark("2026-11-30 12:00:00").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(unmarked().await.is_err(), "the autoscaler's mark stays");
    assert_eq!(pool.settled(1).await?.len(), 1, "and deletes nothing alone");
    Ok(())
}
