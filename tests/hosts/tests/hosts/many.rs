//! Many machines at once.

use std::time::Duration;

use anyhow::{Result, ensure};
use hosts_tests::{Crowd, Running, Scene};
use infrastructure::{Phase, Policy};
use kube::api::{Api, DeleteParams, ListParams};
use provider::kinds::{CareenCluster, CareenHost, CareenMachine};
use tokio::time::Instant;

use crate::claims::{agree, played};

/// How many machines and hosts there are, unless `CAREEN_MANY_HOSTS` says another number.
const MANY: usize = 300;

fn many() -> usize {
    let given = std::env::var("CAREEN_MANY_HOSTS");
    given
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(MANY)
}

/// How long each leader lives.
const LIFE: Duration = Duration::from_secs(5);

/// The longest wait for all of them.
const LONGEST: Duration = Duration::from_secs(900);

async fn provisioned(scene: &Scene) -> Result<usize> {
    let machines: Api<CareenMachine> = scene.all();
    let done = |machine: &CareenMachine| {
        let status = machine.status.clone().unwrap_or_default();
        status.initialization.and_then(|one| one.provisioned) == Some(true)
    };
    let all = machines.list(&ListParams::default()).await?;
    Ok(all.iter().filter(|machine| done(machine)).count())
}

/// Machines that are there, and hosts that are not free.
async fn left(scene: &Scene) -> Result<(usize, usize)> {
    let machines: Api<CareenMachine> = scene.all();
    let hosts: Api<CareenHost> = scene.all();
    let is_used = |host: &CareenHost| {
        let status = host.status.clone().unwrap_or_default();
        host.spec.claim.is_some() || status.phase != Phase::Available
    };
    let hosts = hosts.list(&ListParams::default()).await?;
    let used = hosts.iter().filter(|host| is_used(host)).count();
    let machines = machines.list(&ListParams::default()).await?;
    Ok((machines.items.len(), used))
}

/// Three leaders at once, of which one after the other is killed and replaced, until this holds.
async fn killed_in_turn<F: Future<Output = Result<bool>>>(
    scene: &Scene,
    what: &str,
    holds: impl Fn() -> F,
) -> Result<()> {
    let start = || Running::start(&scene.admin, &scene.space, Policy::default());
    let mut leaders = [start().await?, start().await?, start().await?];
    let begun = Instant::now();
    for turn in 0.. {
        tokio::time::sleep(LIFE).await;
        if holds().await? {
            println!(
                "{what}: {turn} leaders were killed in {:?}",
                begun.elapsed()
            );
            return Ok(());
        }
        ensure!(begun.elapsed() < LONGEST, "{what}: not within {LONGEST:?}");
        let new = start().await?;
        drop(std::mem::replace(&mut leaders[turn % 3], new));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_leaders_killed_in_turn_claim_each_of_300_hosts_once() -> Result<()> {
    let scene = Scene::new("many").await?;
    let many = many();
    let hosts = played(&scene, many).await?;
    let first = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.cluster().await?;
    drop(first);
    for number in 0..many {
        scene.machine(&format!("m-{number}")).await?;
    }
    let crowd = Crowd::live(hosts, Duration::from_secs(1));
    let all = || async { Ok(provisioned(&scene).await? == many) };
    killed_in_turn(&scene, "all are nodes", all).await?;
    let hosts = crowd.end().await?;
    agree(&scene, &hosts).await?;

    // The Cluster goes, with all of its machines.
    let crowd = Crowd::live(hosts, Duration::from_secs(1));
    for number in 0..many {
        scene.delete_machine(&format!("m-{number}")).await?;
    }
    let clusters: Api<CareenCluster> = scene.all();
    clusters.delete("c", &DeleteParams::default()).await?;
    let none = || async {
        let is_gone = clusters.get_opt("c").await?.is_none();
        Ok(is_gone && left(&scene).await? == (0, 0))
    };
    killed_in_turn(&scene, "all hosts are free", none).await?;
    let hosts = crowd.end().await?;
    let runs = hosts.iter().map(|host| host.ran.len());
    assert_eq!(runs.max(), Some(1), "no data ran twice");
    Ok(())
}
