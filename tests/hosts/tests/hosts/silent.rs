//! Hosts that do not answer.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::{Played, Running, Scene};
use infrastructure::Policy;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use provider::kinds::{CareenHost, CareenMachine};
use serde_json::json;
use testkit::cluster_api::objects;
use tokio::sync::Mutex;

use crate::claims::until_all_run;
use crate::workload::{self, Gate};

/// A host is lost after a few seconds.
fn policy() -> Policy {
    Policy {
        alive: 6,
        lost: 8,
        visible: 1,
        ..Policy::default()
    }
}

/// Machines on their hosts, `m-0` on the first one.
async fn running(scene: &Scene, count: usize) -> Result<(Vec<Played>, Running)> {
    let mut hosts = Vec::new();
    let mut provider = None;
    for number in 0..count {
        let mut one = played_as(scene, number).await?;
        if provider.is_none() {
            provider = Some(Running::start(&scene.admin, &scene.space, policy()).await?);
            scene.cluster().await?;
        }
        scene.machine(&format!("m-{number}")).await?;
        // The hosts of before must not be silent now.
        hosts.append(&mut one);
        until_all_run(scene, &mut hosts).await?;
    }
    Ok((hosts, provider.context("no host")?))
}

async fn played_as(scene: &Scene, number: usize) -> Result<Vec<Played>> {
    let name = format!("{}-{number}", scene.space);
    scene.host(&name).await?;
    Ok(vec![Played::new(scene.admin.clone(), &scene.space, &name)])
}

/// Why a machine is not gone yet.
async fn waits_for(scene: &Scene, name: &str) -> Result<String> {
    let machines: Api<CareenMachine> = scene.all();
    let conditions = machines
        .get(name)
        .await?
        .status
        .unwrap_or_default()
        .conditions;
    let ready = conditions.into_iter().find(|one| one.kind == "Ready");
    Ok(ready.context("no condition")?.reason)
}

/// These hosts answer until this holds.
async fn while_answering<T, F: Future<Output = Result<T>>>(
    scene: &Scene,
    hosts: &Mutex<&mut [Played]>,
    what: &str,
    holds: impl Fn() -> F,
) -> Result<T> {
    let ask = || async {
        for host in hosts.lock().await.iter_mut() {
            host.renew().await?;
            host.step().await?;
        }
        holds().await
    };
    scene.until(what, ask).await
}

async fn is_gone(scene: &Scene, name: &str) -> Result<()> {
    let machines: Api<CareenMachine> = scene.all();
    ensure!(machines.get_opt(name).await?.is_none(), "{name} is there");
    Ok(())
}

async fn says(scene: &Scene, name: &str, reason: &str) -> Result<()> {
    let said = waits_for(scene, name).await?;
    ensure!(said == reason, "{said}");
    Ok(())
}

/// Three of five hosts are silent. Two of them come back.
#[tokio::test]
async fn brake_holds_until_hosts_answer_and_one_is_given_up() -> Result<()> {
    let scene = Scene::new("braked").await?;
    let (mut hosts, _provider) = running(&scene, 5).await?;
    workload::reachable(&scene).await?;
    let objects: Api<CareenHost> = scene.all();
    scene.delete_machine("m-0").await?;
    {
        let few = Mutex::new(&mut hosts[3..]);
        let braked = || says(&scene, "m-0", "Braked");
        while_answering(&scene, &few, "the brake holds", braked).await?;
        for _ in 0..12 {
            while_answering(&scene, &few, "they answer", || async { Ok(()) }).await?;
            ensure!(
                scene.is_held("m-0").await?,
                "given up in spite of the brake"
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    let others = Mutex::new(&mut hosts[1..]);
    let gone = || is_gone(&scene, "m-0");
    while_answering(&scene, &others, "the one that is off is given up", gone).await?;
    let lost = objects.get("braked-0").await?.spec.claim;
    ensure!(lost.context("the claim is gone")?.lost);
    for number in 1..5 {
        let name = format!("m-{number}");
        ensure!(scene.is_held(&name).await?, "{name} is gone");
    }

    // It comes back: it reads its order, cleans itself, and waits for a person.
    let all = Mutex::new(&mut hosts[..]);
    let free = || async {
        let host = objects.get("braked-0").await?;
        ensure!(host.spec.claim.is_none(), "{:?}", host.status);
        Ok(host)
    };
    let host = while_answering(&scene, &all, "it is free", free).await?;
    ensure!(host.spec.cordoned, "a person has not looked at it");
    Ok(())
}

async fn node(scene: &Scene, host: &str, is_ready: bool) -> Result<()> {
    let hosts: Api<CareenHost> = scene.all();
    let claim = hosts.get(host).await?.spec.claim.context("no claim")?;
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": host },
        "spec": { "providerID": claim.provider_id },
    });
    objects::apply(&scene.admin, &node).await?;
    let status = if is_ready { "True" } else { "False" };
    let ready = json!({ "type": "Ready", "status": status, "reason": "Test", "message": "" });
    let change = Patch::Merge(json!({ "status": { "conditions": [ready] } }));
    let nodes: Api<Node> = Api::all(scene.admin.clone());
    let how = PatchParams::default();
    nodes.patch_status(host, &how, &change).await?;
    Ok(())
}

/// The link of the host to the management cluster is down, and its Node runs.
#[tokio::test]
async fn silent_host_with_a_ready_node_is_never_given_up() -> Result<()> {
    let scene = Scene::new("linkless").await?;
    let (_hosts, _provider) = running(&scene, 1).await?;
    let gate = Gate::open().await?;
    workload::reachable_through(&scene, &gate).await?;
    node(&scene, "linkless-0", true).await?;
    let objects: Api<CareenHost> = scene.all();
    let before = objects.get("linkless-0").await?;
    tokio::time::sleep(Duration::from_secs(12)).await;
    let after = objects.get("linkless-0").await?;
    assert_eq!(before.spec, after.spec, "nobody wants it to go");
    scene.delete_machine("m-0").await?;
    let held = || says(&scene, "m-0", "LinkDown");
    scene.until("it is held", held).await?;
    for _ in 0..12 {
        node(&scene, "linkless-0", true).await?;
        ensure!(scene.is_held("m-0").await?, "given up while its Node runs");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    // The API server of its cluster cannot be reached: nobody can say whether the Node runs.
    gate.set(false);
    let away = || says(&scene, "m-0", "ClusterAway");
    scene.until("it is frozen", away).await?;
    node(&scene, "linkless-0", false).await?;
    tokio::time::sleep(Duration::from_secs(12)).await;
    ensure!(scene.is_held("m-0").await?, "given up unseen");

    // It is seen again.
    gate.set(true);
    let gone = || is_gone(&scene, "m-0");
    scene.until("it is given up", gone).await
}
