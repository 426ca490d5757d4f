//! A management cluster of its own: it is away, and it goes back to a backup. The nodes are in the
//! cluster of all tests, which neither harms.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hosts_tests::{Played, Running, Scene, plane};
use infrastructure::{Phase, Policy};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use provider::kinds::{CareenHost, CareenMachine, FORCE_RELEASE, ORPHAN};
use provider::manifests;
use serde_json::json;
use testkit::cluster_api::objects;
use testkit::control_plane::{ControlPlane, copy};

use crate::claims::until_all_run;
use crate::rivals::extension_leads_to;

fn folder(name: &str) -> Result<PathBuf> {
    let folder = testkit::programs::cache()?.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("an old cluster is in the way")?;
    }
    Ok(folder)
}

async fn played(scene: &Scene, names: &[&str]) -> Result<Vec<Played>> {
    let mut all = Vec::new();
    for name in names {
        scene.host(name).await?;
        all.push(Played::new(scene.admin.clone(), &scene.space, name));
    }
    Ok(all)
}

/// The Cluster, whose API server is that of all tests.
async fn cluster(scene: &Scene) -> Result<()> {
    extension_leads_to(scene, manifests::NAMESPACE).await?;
    scene.cluster().await?;
    let content = std::fs::read_to_string(plane().await?.admin_kubeconfig())?;
    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "c-kubeconfig" },
            "stringData": { "value": content },
        }))
        .await
        .map(drop)
}

/// The Node of a host, which is not Ready.
async fn node(host: &str, provider_id: &str) -> Result<()> {
    let there = plane().await?.client().await?;
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": host },
        "spec": { "providerID": provider_id },
    });
    objects::apply(&there, &node).await?;
    let ready = json!({ "type": "Ready", "status": "False", "reason": "Test", "message": "" });
    let change = Patch::Merge(json!({ "status": { "conditions": [ready] } }));
    let nodes: Api<Node> = Api::all(there);
    let how = PatchParams::default();
    nodes.patch_status(host, &how, &change).await?;
    Ok(())
}

async fn provider_id(scene: &Scene, machine: &str) -> Result<String> {
    let machines: Api<CareenMachine> = scene.all();
    let machine = machines.get(machine).await?;
    machine.spec.provider_id.context("no provider id")
}

/// The API server is away for longer than a host may be silent. Then the host is as slow as before.
#[tokio::test]
async fn management_cluster_that_was_away_gives_up_no_host() -> Result<()> {
    let plane = ControlPlane::start(&folder("hosts-away-cluster")?).await?;
    let scene = Scene::on(&plane, "away").await?;
    let policy = Policy {
        alive: 10,
        lost: 60,
        visible: 1,
        ..Policy::default()
    };
    let mut hosts = played(&scene, &["away-0"]).await?;
    let _provider = Running::on(&plane, &scene.admin, &scene.space, policy).await?;
    cluster(&scene).await?;
    scene.machine("m-0").await?;
    until_all_run(&scene, &mut hosts).await?;
    node("away-0", &provider_id(&scene, "m-0").await?).await?;
    scene.delete_machine("m-0").await?;
    let objects: Api<CareenHost> = scene.all();
    let ordered = || async {
        hosts[0].renew().await?;
        let claim = objects.get("away-0").await?.spec.claim;
        let wanted = claim.context("no claim")?.wanted;
        ensure!(wanted == infrastructure::Wanted::Released, "not ordered");
        Ok(())
    };
    scene.until("the host is ordered to leave", ordered).await?;
    plane.stop_api_server();
    tokio::time::sleep(Duration::from_secs(70)).await;
    plane.start_api_server().await?;
    // The host hears of it later than careen-provider, and sooner than it is lost.
    let back = Instant::now();
    while back.elapsed() < Duration::from_secs(10) {
        let held = scene.is_held("m-0").await?;
        ensure!(held, "given up for a time in which nobody could renew");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let fenced = || async {
        hosts[0].renew().await?;
        ensure!(scene.is_held("m-0").await?);
        Ok(())
    };
    scene.until("the host is heard again", fenced).await?;
    let claim = objects.get("away-0").await?.spec.claim;
    ensure!(!claim.context("no claim")?.lost, "it was given up");
    let host = tokio::sync::Mutex::new(&mut hosts[0]);
    let gone = || async {
        let mut host = host.lock().await;
        host.renew().await?;
        host.step().await?;
        let host = objects.get("away-0").await?;
        ensure!(host.spec.claim.is_none() && !host.spec.cordoned);
        Ok(())
    };
    scene.until("it leaves in order", gone).await
}

/// Puts the files of a cluster back.
async fn restore(plane: ControlPlane, backup: &Path) -> Result<ControlPlane> {
    let folder = plane.dir().to_path_buf();
    drop(plane);
    std::fs::remove_dir_all(&folder)?;
    // A copy is without the logs of what is copied, and a backup has none.
    std::fs::create_dir_all(backup.join("logs"))?;
    copy(backup, &folder)?;
    ControlPlane::start(&folder).await
}

/// Lets the hosts say what they are, as careen-host does when the server has lost it.
async fn said_again(hosts: &[Played]) -> Result<()> {
    for host in hosts {
        host.say().await?;
        host.renew().await?;
    }
    Ok(())
}

/// At the backup one machine runs, one has just claimed its host, and a third does not exist.
#[tokio::test]
async fn restored_server_makes_no_node_leave_and_repairs_claims() -> Result<()> {
    let mut plane = ControlPlane::start(&folder("hosts-restored-cluster")?).await?;
    let scene = Scene::on(&plane, "restored").await?;
    let policy = || Policy {
        settle: 0,
        orphan_looks: 0,
        ..Policy::default()
    };
    let mut hosts = played(&scene, &["restored-0", "restored-1", "restored-2"]).await?;
    let first = Running::on(&plane, &scene.admin, &scene.space, policy()).await?;
    cluster(&scene).await?;
    scene.machine("m-0").await?;
    until_all_run(&scene, &mut hosts).await?;
    scene.machine("m-1").await?;
    let machines: Api<CareenMachine> = scene.all();
    let objects: Api<CareenHost> = scene.all();
    let claimed = || async {
        said_again(&hosts).await?;
        let named = machines
            .get("m-1")
            .await?
            .spec
            .host_ref
            .context("no host")?;
        let claim = objects.get(&named.name).await?.spec.claim;
        ensure!(claim.is_some(), "no claim");
        Ok(named)
    };
    let named = scene
        .until("the second machine has claimed", claimed)
        .await?;
    ensure!(!named.committed, "{named:?}");
    let backup = folder("hosts-backup-cluster")?;
    plane.save(&backup).await?;
    until_all_run(&scene, &mut hosts).await?;
    // A host that joins has a Node.
    node(&named.name, &provider_id(&scene, "m-1").await?).await?;
    scene.machine("m-2").await?;
    until_all_run(&scene, &mut hosts).await?;
    let before = [
        provider_id(&scene, "m-0").await?,
        provider_id(&scene, "m-1").await?,
    ];
    let forgotten = machines
        .get("m-2")
        .await?
        .spec
        .host_ref
        .context("no host")?;
    drop(first);
    let plane = restore(plane, &backup).await?;

    let _second = Running::on(&plane, &scene.admin, &scene.space, policy()).await?;
    let all = tokio::sync::Mutex::new(&mut hosts);
    let turn = || async {
        for host in all.lock().await.iter_mut() {
            let _ = host.renew().await;
            host.say().await?;
            host.step().await?;
        }
        anyhow::Ok(())
    };
    let repaired = || async {
        turn().await?;
        let now = [
            provider_id(&scene, "m-0").await?,
            provider_id(&scene, "m-1").await?,
        ];
        ensure!(now == before, "{now:?} {before:?}");
        let host = objects.get(&forgotten.name).await?;
        let orphan = host.annotations().get(ORPHAN);
        ensure!(orphan == Some(&forgotten.claim), "{:?}", host.metadata);
        ensure!(host.spec.claim.is_none() && host.spec.cordoned);
        Ok(())
    };
    scene
        .until("claims are repaired, and one is an orphan", repaired)
        .await?;
    for _ in 0..10 {
        turn().await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        for name in ["restored-0", "restored-1", "restored-2"] {
            let phase = objects.get(name).await?.status.unwrap_or_default().phase;
            assert_eq!(
                phase,
                Phase::Joined,
                "{name}: nobody has ordered it to leave"
            );
        }
    }
    let word = json!({ "metadata": { "annotations": { FORCE_RELEASE: forgotten.claim } } });
    scene.change::<CareenHost>(&forgotten.name, word).await?;
    let left = || async {
        turn().await?;
        let host = objects.get(&forgotten.name).await?;
        let phase = host.status.unwrap_or_default().phase;
        ensure!(
            host.spec.claim.is_none() && phase == Phase::Available,
            "{phase:?}"
        );
        Ok(())
    };
    scene
        .until("the orphan leaves after a person's word", left)
        .await?;
    let runs: Vec<_> = hosts.iter().map(|host| host.ran.len()).collect();
    assert_eq!(runs, [1, 1, 1], "no data ran twice");
    Ok(())
}
