//! The node is a control plane: its own kubeadm has made a cluster of one, and its kubelet runs the
//! four static pods. It serves, also after a reboot and after a power cut in the middle of writes.
//! What was written before stays written, and careen-control's survey says the same each time.

use anyhow::Context;
use rig::control_plane::{Components, SERVES};
use rig::counter::Counter;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "control-plane-node-serves-after-a-reboot",
    core: false,
    disk: DiskKind::Bios,
    images: &[],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    rig.become_control_plane().await?;
    let made = rig.wait_control_plane(&Components::new()).await?;
    let control = rig.careen_control().await?;
    let first = survey(rig, control).await?;
    rig.guest.run(SHARED).await?;

    let counter = Counter::start(rig.plane.client().await?);
    rig.reboot().await?;
    let rebooted = rig.wait_control_plane(&made).await?;
    expect_same(&survey(rig, control).await?, &first)?;
    expect_counted(rig, &counter).await?;

    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    rig.wait_control_plane(&rebooted).await?;
    expect_counted(rig, &counter).await?;
    expect_same(&survey(rig, control).await?, &first)?;
    rig.guest.run(SHARED).await.map(drop)
}

/// Checks that no number which the API server has taken is lost, and shows the longest gap.
pub(super) async fn expect_counted(rig: &Rig, counter: &Counter) -> Result<()> {
    let gap = counter
        .expect_nothing_lost(rig.plane.client().await?)
        .await?;
    let (seconds, number) = (gap.as_secs(), counter.taken());
    rig.progress.step(&format!(
        "counted to {number}; the longest gap was {seconds} s"
    ));
    Ok(())
}

/// Fails unless all deployments have this one folder.
const SHARED: &str =
    "test /etc/kubernetes -ef /var/lib/careen/kubernetes && test -s /etc/kubernetes/admin.conf";

/// What the survey says of the node, without what changes each time.
pub(super) async fn survey(rig: &mut Rig, control: &str) -> Result<Value> {
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
    ensure!(
        (codes.as_slice(), code) == (&[&json!("SingleMember")], 4),
        "exit code {code}: {found:#}"
    );
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

fn expect_same(now: &Value, before: &Value) -> Result<()> {
    ensure!(now == before, "the survey says {now:#}, no more {before:#}");
    Ok(())
}
