//! What careen-provider does not write, and what it writes again.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::{Crowd, Played, Running, Scene};
use infrastructure::Policy;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use provider::kinds::policies::OF_A_HOST;
use provider::kinds::{CareenCluster, CareenHost, CareenMachine, FINALIZER, HostRegistration};
use serde_json::{Value, json};

use crate::claims::{played, until_all_run};

/// Long enough for each look that is due.
const A_WHILE: Duration = Duration::from_secs(8);

type Versions = BTreeMap<String, Option<String>>;

async fn of_kind<K>(scene: &Scene, into: &mut Versions) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let all: Api<K> = scene.all();
    for object in all.list(&ListParams::default()).await? {
        let name = format!("{} {}", K::kind(&()), object.name_any());
        into.insert(name, object.resource_version());
    }
    Ok(())
}

/// The versions of everything that careen-provider writes, apart from Leases.
async fn versions(scene: &Scene) -> Result<Versions> {
    let mut all = Versions::new();
    of_kind::<CareenMachine>(scene, &mut all).await?;
    of_kind::<CareenHost>(scene, &mut all).await?;
    of_kind::<CareenCluster>(scene, &mut all).await?;
    of_kind::<HostRegistration>(scene, &mut all).await?;
    of_kind::<Secret>(scene, &mut all).await?;
    Ok(all)
}

/// Waits until nothing is written any more, and returns the versions.
async fn settled(scene: &Scene) -> Result<Versions> {
    let ask = || async {
        let before = versions(scene).await?;
        tokio::time::sleep(A_WHILE).await;
        let after = versions(scene).await?;
        ensure!(before == after, "{before:?} {after:?}");
        Ok(after)
    };
    scene.until("all is settled", ask).await
}

/// As upstream's check of providers: an object at rest is not written.
#[tokio::test]
async fn nothing_is_written_while_hosts_only_renew_their_leases() -> Result<()> {
    let scene = Scene::new("stable").await?;
    let mut hosts = played(&scene, 40).await?;
    let _provider = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.cluster().await?;
    for number in 0..3 {
        scene.machine(&format!("m-{number}")).await?;
    }
    until_all_run(&scene, &mut hosts).await?;
    let _crowd = Crowd::live(hosts, Duration::from_secs(1));
    let before = settled(&scene).await?;
    tokio::time::sleep(4 * A_WHILE).await;
    assert_eq!(before, versions(&scene).await?);
    Ok(())
}

async fn pause(scene: &Scene, is_paused: bool) -> Result<()> {
    let kind = testkit::cluster_api::objects::kind("cluster.x-k8s.io/v1beta2", "Cluster")?;
    let all = testkit::cluster_api::objects::api(&scene.admin, &kind, Some(&scene.space));
    let change = kube::api::Patch::Merge(json!({ "spec": { "paused": is_paused } }));
    all.patch("c", &kube::api::PatchParams::default(), &change)
        .await?;
    Ok(())
}

/// A machine runs, one is deleted, one waits for a host, and one was removed by hand.
#[tokio::test]
async fn paused_cluster_gets_no_write_but_its_condition() -> Result<()> {
    let scene = Scene::new("paused").await?;
    let mut hosts = played(&scene, 3).await?;
    let policy = Policy {
        settle: 0,
        orphan_looks: 0,
        ..Policy::default()
    };
    let _provider = Running::start(&scene.admin, &scene.space, policy).await?;
    scene.cluster().await?;
    for name in ["runs", "goes", "removed"] {
        scene.machine(name).await?;
    }
    until_all_run(&scene, &mut hosts).await?;
    pause(&scene, true).await?;
    scene.host("free").await?;
    scene.machine("waits").await?;
    scene.delete_machine("goes").await?;
    scene.delete_machine("removed").await?;
    let none = json!({ "metadata": { "finalizers": null } });
    scene.change::<CareenMachine>("removed", none).await?;
    let machines: Api<CareenMachine> = scene.all();
    let told = || async {
        for name in ["runs", "goes", "waits"] {
            let machine = machines.get(name).await?;
            let conditions = machine.status.unwrap_or_default().conditions;
            let paused = conditions.iter().find(|one| one.kind == "Paused");
            let paused = paused.with_context(|| format!("{name}: no condition"))?;
            ensure!(paused.status == "True", "{name}: {paused:?}");
        }
        Ok(())
    };
    scene.until("the pause is said", told).await?;
    let _crowd = Crowd::live(hosts, Duration::from_secs(1));
    settled(&scene).await?;
    let waits = machines.get("waits").await?;
    ensure!(waits.spec.host_ref.is_none() && waits.finalizers().is_empty());
    ensure!(scene.is_held("goes").await?);
    let all: Api<CareenHost> = scene.all();
    for host in all.list(&ListParams::default()).await? {
        let orders = host.annotations().len();
        let joined = host.spec.claim.map(|claim| claim.wanted);
        let is_free = host.metadata.name.as_deref() == Some("free");
        assert_eq!(joined, (!is_free).then_some(infrastructure::Wanted::Joined));
        ensure!(orders == 0 && !host.spec.cordoned, "an orphan of a pause");
    }

    pause(&scene, false).await?;
    let goes_on = || async {
        let waits = machines.get("waits").await?;
        ensure!(waits.spec.host_ref.is_some(), "no host");
        ensure!(machines.get_opt("goes").await?.is_none(), "it is there");
        Ok(())
    };
    scene.until("it goes on", goes_on).await
}

#[tokio::test]
async fn cluster_that_another_manages_gets_no_write() -> Result<()> {
    let scene = Scene::new("external").await?;
    let _provider = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    let made = scene
        .apply(&json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": { "name": "x" },
            "spec": { "infrastructureRef": {
                "apiGroup": provider::kinds::GROUP, "kind": "CareenCluster", "name": "x",
            } },
        }))
        .await?;
    let owner = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "x",
        "uid": made["metadata"]["uid"], "controller": true,
    });
    let external: CareenCluster = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenCluster",
        "metadata": {
            "name": "x", "ownerReferences": [owner],
            "annotations": { provider::kinds::MANAGED_BY: "terraform" },
        },
        "spec": {},
    }))?;
    let all: Api<CareenCluster> = scene.all();
    let external = all.create(&PostParams::default(), &external).await?;
    // Another one is provisioned meanwhile.
    scene.cluster().await?;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(all.get("x").await?, external);
    Ok(())
}

async fn has_finalizer<K>(scene: &Scene, name: &str) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let all: Api<K> = scene.all();
    let object = all.get(name).await?;
    let is_there = object.finalizers().iter().any(|one| one == FINALIZER);
    ensure!(is_there, "{} {name} has none", K::kind(&()));
    Ok(())
}

/// As upstream's checks of finalizers and of owner references.
#[tokio::test]
async fn finalizers_and_owners_that_are_removed_come_back() -> Result<()> {
    let scene = Scene::new("resilient").await?;
    scene
        .apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration",
            "metadata": { "name": "rack-a" }, "spec": {},
        }))
        .await?;
    scene.host("h-0").await?;
    let mut hosts = vec![Played::new(scene.admin.clone(), &scene.space, "h-0")];
    let _provider = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.cluster().await?;
    scene.machine("m-0").await?;
    until_all_run(&scene, &mut hosts).await?;
    let held = || async {
        has_finalizer::<CareenMachine>(&scene, "m-0").await?;
        has_finalizer::<CareenHost>(&scene, "h-0").await?;
        has_finalizer::<CareenCluster>(&scene, "c").await?;
        has_finalizer::<HostRegistration>(&scene, "rack-a").await
    };
    scene.until("all have their finalizers", held).await?;
    let none = || json!({ "metadata": { "finalizers": null } });
    scene.change::<CareenMachine>("m-0", none()).await?;
    scene.change::<CareenHost>("h-0", none()).await?;
    scene.change::<CareenCluster>("c", none()).await?;
    scene.change::<HostRegistration>("rack-a", none()).await?;
    scene.until("all have them again", held).await?;

    let own = format!("{OF_A_HOST}h-0");
    let bare = || json!({ "metadata": { "ownerReferences": null, "labels": null } });
    scene.change::<Secret>(&own, bare()).await?;
    scene.change::<Lease>(&own, bare()).await?;
    // Something of the host changes.
    scene
        .change::<CareenHost>("h-0", json!({ "metadata": { "labels": { "a": "b" } } }))
        .await?;
    let hosts: Api<CareenHost> = scene.all();
    let owned = || async {
        let uid = hosts.get("h-0").await?.uid();
        let leases: Api<Lease> = scene.all();
        let secrets: Api<Secret> = scene.all();
        let all = [
            leases.get(&own).await?.metadata,
            secrets.get(&own).await?.metadata,
        ];
        for meta in all {
            let owners = meta.owner_references.unwrap_or_default();
            let is_its = owners.iter().any(|owner| Some(&owner.uid) == uid.as_ref());
            ensure!(is_its && meta.labels.is_some(), "{owners:?}");
        }
        Ok(())
    };
    scene.until("all are the host's again", owned).await?;
    settled(&scene).await.map(drop)
}

/// The tokens of the older host end with its account.
#[tokio::test]
async fn host_of_an_old_name_takes_over_nothing() -> Result<()> {
    let scene = Scene::new("namesake").await?;
    let _provider = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.host("h-0").await?;
    let own = format!("{OF_A_HOST}h-0");
    let secrets: Api<Secret> = scene.all();
    let uids = || async {
        let secret = secrets.get(&own).await?;
        let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = scene.all();
        let leases: Api<Lease> = scene.all();
        let account = accounts.get(&own).await?;
        let lease = leases.get(&own).await?;
        anyhow::Ok([secret.uid(), account.uid(), lease.uid()])
    };
    let before = scene.until("the host has its objects", uids).await?;
    let data: Value = json!({ "stringData": { "value": "of the old host" } });
    scene.change::<Secret>(&own, data).await?;
    let hosts: Api<CareenHost> = scene.all();
    hosts
        .delete("h-0", &kube::api::DeleteParams::default())
        .await?;
    let gone = || async {
        ensure!(hosts.get_opt("h-0").await?.is_none());
        Ok(())
    };
    scene.until("the old host is gone", gone).await?;
    scene.host("h-0").await?;
    let others = || async {
        let after = uids().await?;
        let is_other = before.iter().zip(&after).all(|(old, new)| old != new);
        ensure!(is_other, "{before:?} {after:?}");
        Ok(())
    };
    scene.until("it has objects of its own", others).await?;
    let held = secrets.get(&own).await?.data.unwrap_or_default();
    ensure!(held.is_empty(), "what the old host had: {held:?}");
    settled(&scene).await?;
    others().await
}
