//! An image that fails on one host after the other.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::{Running, Scene, status};
use infrastructure::{Phase, Policy, Wanted};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use provider::kinds::policies::OF_A_HOST;
use provider::kinds::{CareenHost, CareenMachine};
use serde_json::json;

const HOSTS: [&str; 4] = ["h-0", "h-1", "h-2", "h-3"];

/// What a host says whose image falls back.
async fn fall_back(scene: &Scene, name: &str, tried: &mut BTreeSet<String>) -> Result<()> {
    let leases: Api<Lease> = scene.all();
    let now = format!("{:.6}", Timestamp::now());
    let body = Patch::Merge(json!({ "spec": { "renewTime": now } }));
    let lease = format!("{OF_A_HOST}{name}");
    // Its Lease may not be there yet.
    let _ = leases.patch(&lease, &PatchParams::default(), &body).await;
    let hosts: Api<CareenHost> = scene.all();
    let host = hosts.get(name).await?;
    let said = host.status.unwrap_or_default();
    let claim = host.spec.claim;
    let id = claim.as_ref().map(|claim| claim.id.as_str());
    let phase = match &claim {
        Some(claim) if claim.wanted == Wanted::Joined => Phase::Failed,
        Some(_) | None => Phase::Available,
    };
    if (said.phase, said.observed_claim.as_deref()) == (phase, id) {
        return Ok(());
    }
    let mut status = status(phase, id);
    status["hostname"] = json!(name);
    status["reason"] = json!(if phase == Phase::Failed {
        "ImageFailed"
    } else {
        ""
    });
    if phase == Phase::Failed {
        tried.insert(name.to_owned());
    }
    scene.say(name, &status).await
}

#[tokio::test]
async fn image_that_fails_on_three_hosts_is_tried_on_no_other() -> Result<()> {
    let scene = Scene::new("bad-image").await?;
    for name in HOSTS {
        scene.host(name).await?;
    }
    let _provider = Running::start(&scene.admin, &scene.space, Policy::default()).await?;
    scene.cluster().await?;
    scene.machine("m-0").await?;
    let machines: Api<CareenMachine> = scene.all();
    let tried = tokio::sync::Mutex::new(BTreeSet::new());
    let all_fall_back = || async {
        for name in HOSTS {
            fall_back(&scene, name, &mut *tried.lock().await).await?;
        }
        anyhow::Ok(())
    };
    let said = || async {
        all_fall_back().await?;
        let machine = machines.get("m-0").await?;
        let conditions = machine.status.unwrap_or_default().conditions;
        let claimed = conditions.into_iter().find(|one| one.kind == "HostClaimed");
        let claimed = claimed.context("no condition")?;
        ensure!(claimed.reason == "ImageFailing", "{claimed:?}");
        Ok(claimed.message)
    };
    let message = scene.until("no other host is tried", said).await?;
    ensure!(message.contains("failed on 3 hosts"), "{message}");
    for _ in 0..10 {
        all_fall_back().await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(tried.lock().await.len(), 3);
    let hosts: Api<CareenHost> = scene.all();
    for name in HOSTS {
        let claim = hosts.get(name).await?.spec.claim;
        assert_eq!(claim, None, "{name} is given back");
    }
    Ok(())
}
