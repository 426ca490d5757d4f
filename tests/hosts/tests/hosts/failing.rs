//! careen-provider behind an API server that fails: it dies between the halves of a claim, its
//! watches are late, and requests fail at random.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::{Fate, Faulty, Played, Request, Running, Scene};
use infrastructure::{Phase, Policy};
use kube::api::{Api, ListParams};
use provider::kinds::{CareenHost, CareenMachine};

use crate::claims::{agree, played, until_all_run};

/// Lets the provider write the first half of a claim, and kills it at the second.
async fn dies_at_the_claim(space: &str, fate: Fate) -> Result<()> {
    let scene = Scene::new(space).await?;
    let mut hosts = played(&scene, 3).await?;
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let decide = move |request: &Request| {
        if !request.is_claim() {
            return Fate::Answered;
        }
        counted.fetch_add(1, Ordering::SeqCst);
        fate
    };
    let faulty = Faulty::start(&scene.admin, decide).await?;
    let first = Running::through(&scene.admin, space, Policy::default(), &faulty.url).await?;
    scene.cluster().await?;
    scene.machine("m-0").await?;
    let machines: Api<CareenMachine> = scene.all();
    let reached = || async {
        for host in &hosts {
            let _ = host.renew().await;
        }
        ensure!(seen.load(Ordering::SeqCst) > 0, "no claim yet");
        Ok(())
    };
    scene
        .until("the second half is on its way", reached)
        .await?;
    drop(first);
    drop(faulty);
    let named = machines.get("m-0").await?.spec.host_ref;
    let named = named.context("the machine names no host")?;
    let objects: Api<CareenHost> = scene.all();
    let claim = objects.get(&named.name).await?.spec.claim;
    let is_written = matches!(fate, Fate::Lost);
    assert_eq!(claim.is_some(), is_written, "{fate:?}");

    let _second = Running::start(&scene.admin, space, Policy::default()).await?;
    until_all_run(&scene, &mut hosts).await?;
    let after = machines
        .get("m-0")
        .await?
        .spec
        .host_ref
        .context("no host")?;
    assert_eq!(
        (after.name, after.claim),
        (named.name, named.claim),
        "{fate:?}"
    );
    agree(&scene, &hosts).await
}

#[tokio::test]
async fn leader_that_dies_between_the_halves_loses_no_claim() -> Result<()> {
    dies_at_the_claim("halves-held", Fate::Held).await?;
    dies_at_the_claim("halves-lost", Fate::Lost).await
}

/// Two leaders, and each sees what has changed 5 s later.
#[tokio::test]
async fn two_leaders_with_old_lists_claim_no_host_twice() -> Result<()> {
    const MANY: usize = 8;
    let scene = Scene::new("late").await?;
    let mut hosts = played(&scene, MANY).await?;
    let conflicts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&conflicts);
    let late = move |request: &Request| {
        // The first half of a claim goes again if another machine was faster at the second.
        let gives_up =
            request.path.contains("/careenmachines/") && request.body.contains("\"hostRef\":null");
        counted.fetch_add(usize::from(gives_up), Ordering::SeqCst);
        match request.is_watch() {
            true => Fate::Late(Duration::from_secs(5)),
            false => Fate::Answered,
        }
    };
    let faulty = Faulty::start(&scene.admin, late).await?;
    let (admin, space, url) = (&scene.admin, &scene.space, &faulty.url);
    let _one = Running::through(admin, space, Policy::default(), url).await?;
    let _other = Running::through(admin, space, Policy::default(), url).await?;
    scene.cluster().await?;
    for number in 0..MANY {
        scene.machine(&format!("m-{number}")).await?;
    }
    until_all_run(&scene, &mut hosts).await?;
    agree(&scene, &hosts).await?;
    let conflicts = conflicts.load(Ordering::SeqCst);
    ensure!(conflicts > 0, "no two machines chose one host");
    Ok(())
}

/// Some of the requests fail, and some of those are carried out.
fn at_random(seed: u64) -> impl Fn(&Request) -> Fate {
    let state = AtomicU64::new(seed);
    move |request| {
        // Numerical Recipes, 7.1: the high bits are good enough here.
        let next = |old: u64| {
            let new = old.wrapping_mul(6_364_136_223_846_793_005);
            Some(new.wrapping_add(1_442_695_040_888_963_407))
        };
        let drawn = state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        match (drawn.unwrap_or_default() >> 33) % 100 {
            0 | 1 => Fate::Refused(429),
            2 | 3 => Fate::Refused(500),
            4 | 5 if !request.is_watch() => Fate::Lost,
            6 | 7 if request.is_watch() => Fate::Late(Duration::from_secs(2)),
            8 if !request.is_watch() => Fate::Held,
            _ => Fate::Answered,
        }
    }
}

/// A machine that is deleted has its finalizer as long as its host is a node.
async fn until_all_are_free(scene: &Scene, hosts: &mut [Played]) -> Result<()> {
    let objects: Api<CareenHost> = scene.all();
    let machines: Api<CareenMachine> = scene.all();
    for _ in 0..900 {
        for host in hosts.iter_mut() {
            let object = objects.get(&host.name).await?;
            let phase = object.status.map(|status| status.phase);
            if let (Some(claim), Some(Phase::Joined)) = (object.spec.claim, phase) {
                let held = scene.is_held(&claim.machine).await?;
                ensure!(held, "{} went before the fence", claim.machine);
            }
            let _ = host.renew().await;
            host.step().await?;
        }
        let claims = objects.list(&ListParams::default()).await?;
        let claimed = claims.iter().any(|host| host.spec.claim.is_some());
        if !claimed
            && machines
                .list(&ListParams::default())
                .await?
                .items
                .is_empty()
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    anyhow::bail!("not all hosts are free")
}

#[tokio::test]
async fn api_server_that_fails_at_random_breaks_no_promise() -> Result<()> {
    const MANY: usize = 5;
    let scene = Scene::new("random").await?;
    let mut hosts = played(&scene, MANY).await?;
    let faulty = Faulty::start(&scene.admin, at_random(43)).await?;
    let (admin, space, url) = (&scene.admin, &scene.space, &faulty.url);
    let _one = Running::through(admin, space, Policy::default(), url).await?;
    let _other = Running::through(admin, space, Policy::default(), url).await?;
    scene.cluster().await?;
    for round in 0..2 {
        for number in 0..MANY {
            scene.machine(&format!("m-{round}-{number}")).await?;
        }
        until_all_run(&scene, &mut hosts).await?;
        agree(&scene, &hosts).await?;
        for number in 0..MANY {
            scene.delete_machine(&format!("m-{round}-{number}")).await?;
        }
        until_all_are_free(&scene, &mut hosts).await?;
        for host in &mut hosts {
            host.ran.clear();
        }
    }
    Ok(())
}
