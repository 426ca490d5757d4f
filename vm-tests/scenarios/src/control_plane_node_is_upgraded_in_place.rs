//! The only control-plane node of a cluster upgrades itself: first its system alone, then its system
//! and Kubernetes. An image whose kubelet crashes falls back, and the API server serves on. Then its
//! power is cut. Every write that the API server has taken is still there.

use anyhow::Context;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use rig::control_plane::{Components, SERVES};
use rig::counter::Counter;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use upgrade::control_plane::{LOCK, LOCK_NAMESPACE};
use upgrade::report::Status;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "control-plane-node-is-upgraded-in-place",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later", "v2", "kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

/// An upgrade with a raise restarts each static pod, and each program of the guest is emulated.
const RAISED: Duration = Duration::from_secs(3600);

/// Fails unless all deployments have this one folder.
const SHARED: &str =
    "test /etc/kubernetes -ef /var/lib/careen/kubernetes && test -s /etc/kubernetes/admin.conf";

/// The snapshots that the node keeps.
const SNAPSHOTS: &str = "ls /var/lib/careen/etcd/*.db | wc -l";

/// The survey's findings of the only node of a cluster, which are no more than warnings.
const WARNED: [&str; 2] = ["SingleMember", "NoOtherNode"];

async fn run(rig: &mut Rig) -> Result<()> {
    rig.become_control_plane().await?;
    rig.wait_control_plane(&Components::new()).await?;
    let counter = Counter::start(rig.plane.client().await?);

    let status = upgraded(rig, "v1-later").await?;
    let did = status.control_plane.context("nothing was done to it")?;
    ensure!(
        did.raised.is_none(),
        "an image of the same version: {did:?}"
    );
    expect_at_rest(rig, &counter, "v1.35").await?;

    let status = upgraded(rig, "v2").await?;
    let did = status.control_plane.context("nothing was done to it")?;
    ensure!(did.snapshot.is_some(), "nothing was saved: {did:?}");
    expect_at_rest(rig, &counter, "v1.36").await?;
    ensure!(rig.guest.run(SNAPSHOTS).await? == "2", "two are kept");

    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_answer(Answer::Failed, RAISED).await?;
    rig.expect_fallback(&before, &["Unhealthy"]).await?;
    expect_at_rest(rig, &counter, "v1.36").await?;

    let before = rig.wait_control_plane(&Components::new()).await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    rig.wait_control_plane(&before).await?;
    expect_at_rest(rig, &counter, "v1.36").await
}

async fn upgraded(rig: &mut Rig, image: &str) -> Result<Status> {
    let image = rig.image(image)?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_answer(Answer::Upgraded, RAISED).await?;
    let view = rig.expect_upgraded(&before, &image).await?;
    view.status.context("no status")
}

/// The control plane serves at this minor, nobody holds its lock, and no write is lost.
async fn expect_at_rest(rig: &mut Rig, counter: &Counter, minor: &str) -> Result<()> {
    rig.wait_control_plane(&Components::new()).await?;
    expect_counted(rig, counter).await?;
    let control = rig.careen_control().await?;
    let found = survey(rig, control).await?;
    let version = found["versions"]["cluster"].as_str();
    ensure!(
        version.is_some_and(|version| version.starts_with(minor)),
        "the cluster is at {version:?}"
    );
    rig.guest.run(SHARED).await?;
    expect_unlocked(rig).await
}

async fn expect_unlocked(rig: &Rig) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(rig.plane.client().await?, LOCK_NAMESPACE);
    let lease = leases.get_opt(LOCK).await?;
    let holder = lease.and_then(|lease| lease.spec?.holder_identity);
    ensure!(
        holder.as_deref().unwrap_or_default().is_empty(),
        "{holder:?} holds the lock of the control plane"
    );
    Ok(())
}

/// Checks that no number which the API server has taken is lost, and shows the longest gap.
async fn expect_counted(rig: &Rig, counter: &Counter) -> Result<()> {
    let gap = counter
        .expect_nothing_lost(rig.plane.client().await?)
        .await?;
    let (seconds, number) = (gap.as_secs(), counter.taken());
    rig.progress.step(&format!(
        "counted to {number}; the longest gap was {seconds} s"
    ));
    Ok(())
}

/// What the survey says of the node, without what changes each time.
async fn survey(rig: &mut Rig, control: &str) -> Result<Value> {
    rig.progress.step("surveying");
    let deadline = Instant::now() + SERVES;
    let (mut found, mut code) = surveyed(rig, control).await?;
    // Just after a boot an emulated etcd may take longer than a survey waits, which it says.
    while !found["survey"]["unseen"].is_null() && Instant::now() < deadline {
        rig.progress
            .step(&format!("unseen: {}", found["survey"]["unseen"]));
        sleep(MINUTE / 6).await;
        (found, code) = surveyed(rig, control).await?;
    }
    let seen = &found["survey"];
    ensure!(seen["node"] == "node1", "another node: {found:#}");
    ensure!(seen["kind"] == "stacked", "etcd is elsewhere: {found:#}");
    let member = &seen["members"][0];
    let is_well = member["name"] == "node1" && member["sick"].is_null();
    ensure!(is_well && member["id"] == seen["me"], "{found:#}");
    ensure!(seen["drift"] == json!([]), "drift: {found:#}");
    ensure!(seen["unseen"].is_null(), "not all was read: {found:#}");
    let codes = found["findings"].as_array().context("no findings")?;
    let codes: Vec<_> = codes.iter().map(|one| &one["code"]).collect();
    ensure!(codes == WARNED && code == 4, "exit code {code}: {found:#}");
    Ok(
        json!({ "me": seen["me"], "versions": seen["versions"], "certificates": seen["certificates"] }),
    )
}

async fn surveyed(rig: &mut Rig, control: &str) -> Result<(Value, i32)> {
    let command = format!("{control} survey --json 2>/dev/null");
    let output = rig.guest.try_run(&command, 10 * MINUTE).await?;
    let code = output.code;
    let found = serde_json::from_str(&output.text);
    let found = found.with_context(|| format!("exit code {code}: {}", output.text))?;
    Ok((found, code))
}
