//! Two providers that both take themselves for the leader, and one that is killed again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::{Played, Running, Scene};
use infrastructure::Policy;
use kube::Api;
use kube::api::ListParams;
use provider::kinds::{CareenHost, CareenMachine};

/// How many machines, and how many hosts.
const MANY: usize = 8;

pub async fn played(scene: &Scene, count: usize) -> Result<Vec<Played>> {
    let mut all = Vec::new();
    for number in 0..count {
        let name = format!("h-{number}");
        scene.host(&name).await?;
        all.push(Played::new(scene.admin.clone(), &scene.space, &name));
    }
    Ok(all)
}

/// Lets the hosts act until every machine is provisioned.
pub async fn until_all_run(scene: &Scene, hosts: &mut [Played]) -> Result<()> {
    let machines: Api<CareenMachine> = scene.all();
    for _ in 0..600 {
        for host in hosts.iter_mut() {
            // Its Lease may not be there yet.
            let _ = host.renew().await;
            host.step().await?;
        }
        let all = machines.list(&ListParams::default()).await?.items;
        let done = all.iter().filter(|machine| {
            let status = machine.status.as_ref();
            status.is_some_and(|status| {
                status
                    .initialization
                    .as_ref()
                    .and_then(|one| one.provisioned)
                    == Some(true)
            })
        });
        if done.count() == all.len() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let all = machines.list(&ListParams::default()).await?.items;
    let open: Vec<_> = all
        .iter()
        .map(|one| {
            (
                &one.spec.host_ref,
                &one.metadata.annotations,
                one.status.as_ref().map(|status| &status.conditions),
            )
        })
        .collect();
    anyhow::bail!("not all are provisioned: {open:?}")
}

/// Each host has one machine, each machine one host, and both say the same.
pub async fn agree(scene: &Scene, hosts: &[Played]) -> Result<()> {
    let machines: Api<CareenMachine> = scene.all();
    let mut of = BTreeMap::new();
    for machine in machines.list(&ListParams::default()).await?.items {
        let named = machine.spec.host_ref.context("a machine without a host")?;
        let name = machine.metadata.name.unwrap_or_default();
        ensure!(
            of.insert(named.name.clone(), (name, named.claim)).is_none(),
            "{} twice",
            named.name
        );
    }
    let objects: Api<CareenHost> = scene.all();
    for object in objects.list(&ListParams::default()).await?.items {
        let name = object.metadata.name.unwrap_or_default();
        let claim = object.spec.claim.map(|claim| (claim.machine, claim.id));
        assert_eq!(claim.as_ref(), of.get(&name), "{name}");
    }
    let ran: Vec<&String> = hosts.iter().flat_map(|host| &host.ran).collect();
    let different: BTreeSet<&&String> = ran.iter().collect();
    ensure!(
        ran.len() == different.len() && ran.len() == of.len(),
        "{ran:?}"
    );
    Ok(())
}

#[tokio::test]
async fn two_leaders_at_once_claim_no_host_twice() -> Result<()> {
    let scene = Scene::new("two-leaders").await?;
    let mut hosts = played(&scene, MANY).await?;
    let _one = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    let _other = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.cluster().await?;
    for number in 0..MANY {
        scene.machine(&format!("m-{number}")).await?;
    }
    until_all_run(&scene, &mut hosts).await?;
    agree(&scene, &hosts).await
}

#[tokio::test]
async fn provider_that_is_killed_again_and_again_claims_nothing_twice() -> Result<()> {
    let scene = Scene::new("killed").await?;
    let mut hosts = played(&scene, 4).await?;
    let first = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.cluster().await?;
    drop(first);
    for number in 0..4 {
        scene.machine(&format!("m-{number}")).await?;
    }
    for life in 1..8_u64 {
        let provider = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
        for _ in 0..life {
            for host in &mut hosts {
                let _ = host.renew().await;
                host.step().await?;
            }
            tokio::time::sleep(Duration::from_millis(150 * life)).await;
        }
        drop(provider);
    }
    let _last = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    until_all_run(&scene, &mut hosts).await?;
    agree(&scene, &hosts).await
}

#[tokio::test]
async fn claim_of_somebody_else_is_never_overwritten() -> Result<()> {
    let scene = Scene::new("foreign").await?;
    let mut hosts = played(&scene, 2).await?;
    let foreign = serde_json::json!({ "spec": { "claim": {
        "id": "00000000000000ff", "machine": "by-hand", "cluster": "c", "providerID": "x", "wanted": "Joined",
    } } });
    scene.change::<CareenHost>("h-0", foreign).await?;
    let _provider = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.cluster().await?;
    scene.machine("m-0").await?;
    until_all_run(&scene, &mut hosts[1..]).await?;
    let objects: Api<CareenHost> = scene.all();
    let claim = objects
        .get("h-0")
        .await?
        .spec
        .claim
        .context("the claim is gone")?;
    assert_eq!(claim.id, "00000000000000ff");
    Ok(())
}
