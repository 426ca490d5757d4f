//! A person who only has `kubectl careen` sees what would happen, pauses and withdraws a request,
//! and reads why an upgrade failed. The person follows a good one on the terminal, finds both in
//! the history, and goes back to the system that the node has kept.

use rig::images::Commit;
use rig::kubectl_careen::KubectlCareen;
use rig::node::NAME;
use serde_json::Value;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kubectl-careen-takes-a-node-there-and-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2", "v3"],
    run: |rig| Box::pin(run(rig)),
};

/// The exit code when a watched upgrade fails (docs/kubectl-careen.md).
const FAILED: i32 = 1;

async fn run(rig: &mut Rig) -> Result<()> {
    let (good, other) = (rig.image("v2")?, rig.image("v3")?);
    let kubectl = KubectlCareen::of(rig)?;
    let before = rig.before().await?;

    rig.progress.step("kubectl careen plan");
    let plan = plan(&kubectl, &good.pinned()).await?;
    expect(&plan["plan"]["commit"], &good.digest)?;
    expect(&plan["plan"]["kubelet"]["from"], &before.kubelet)?;
    expect(&plan["plan"]["kubelet"]["to"], "v1.36.3")?;
    let left = rig
        .guest
        .run("ostree refs | grep -c careen/ || true")
        .await?;
    ensure!(left.trim() == "0", "the plan has left {left} refs");
    paused_and_taken_back(rig, &kubectl, &good).await?;
    rig.expect_runs(&before.commit).await?;

    a_failure_is_explained(rig, &kubectl, &other).await?;
    rig.expect_old_system(&before).await?;

    rig.progress.step("kubectl careen upgrade, on a terminal");
    rig.expect_a_new_answer();
    let line = format!("upgrade {NAME} --image {} --watch", good.pinned());
    let seen = kubectl.on_terminal(&line, "yes").await?;
    ensure!(seen.code == 0, "{line:?} ended with {seen:?}");
    for part in ["[y/N]", "#.", "%", "Upgraded"] {
        ensure!(seen.text.contains(part), "no {part:?} in {}", seen.text);
    }
    rig.expect_upgraded(&before, &good).await?;
    both_are_in_the_history(rig, &kubectl).await?;

    rig.progress.step("kubectl careen rollback");
    let line = format!("rollback {NAME} --yes --watch");
    let ended: Value = kubectl.json(&line, 0).await?;
    expect(&ended["state"], "Upgraded")?;
    rig.expect_old_system(&before).await?;
    ensure!(rig.deployments().await? == 2, "not two deployments");
    Ok(())
}

/// An emulated node takes time to answer.
async fn plan(kubectl: &KubectlCareen, image: &str) -> Result<Value> {
    kubectl
        .json(&format!("plan {NAME} --image {image} --timeout 10m"), 0)
        .await
}

/// A pause holds a request and says so. The held request is withdrawn before the pause ends.
async fn paused_and_taken_back(
    rig: &mut Rig,
    kubectl: &KubectlCareen,
    image: &Commit,
) -> Result<()> {
    rig.progress
        .step("kubectl careen pause, upgrade, explain, cancel, resume");
    let one = |done: &Value| expect(&done[0]["node"], NAME).map(|()| done[0]["done"].clone());
    let paused = kubectl
        .json(&format!("pause {NAME} --reason maintenance"), 0)
        .await?;
    expect(&one(&paused)?, "paused")?;
    let line = format!("upgrade {NAME} --yes --image {}", image.pinned());
    expect(&one(&kubectl.json(&line, 0).await?)?, "asked")?;
    let status: Value = kubectl.json("status", 0).await?;
    expect(&status[0]["state"], "Paused")?;
    let explained = kubectl.run(&format!("explain {NAME}")).await?;
    let says = explained.code == 0 && explained.text.contains("maintenance");
    ensure!(says, "explain says {explained:?}");
    let cancelled = kubectl.json(&format!("cancel {NAME}"), 0).await?;
    expect(&one(&cancelled)?, "withdrawn")?;
    let resumed = kubectl
        .json(&format!("resume {NAME} --reason maintenance"), 0)
        .await?;
    expect(&one(&resumed)?, "resumed")
}

/// A budget that never allows an eviction ends the upgrade without a reboot.
async fn a_failure_is_explained(
    rig: &mut Rig,
    kubectl: &KubectlCareen,
    image: &Commit,
) -> Result<()> {
    let client = rig.plane.client().await?;
    workload::allow_unavailable(&client, 0).await?;
    rig.policy("[drain]\ndeadline-seconds = 20").await?;
    rig.progress
        .step("kubectl careen upgrade that a budget blocks, then explain");
    let line = format!("upgrade {NAME} --yes --watch --image {}", image.pinned());
    let ended: Value = kubectl.json(&line, FAILED).await?;
    expect(&ended["state"], "Failed")?;
    expect(&ended["code"], "BudgetBlocks")?;
    let explained: Value = kubectl.json(&format!("explain {NAME}"), 0).await?;
    expect(&explained["code"], "BudgetBlocks")?;
    let runbook = explained["runbook"].to_string();
    ensure!(runbook.len() > 100, "the runbook's section is {runbook}");
    let tried = kubectl
        .json::<Value>(&format!("retry {NAME} --yes --dry-run"), 0)
        .await?;
    expect(&tried[0]["done"], "asked")?;
    rig.policy("").await?;
    workload::allow_unavailable(&client, 1).await
}

/// The history shows what each upgrade cost: only the good one rebooted the node. From now on this
/// cluster knows how long an upgrade takes.
async fn both_are_in_the_history(rig: &mut Rig, kubectl: &KubectlCareen) -> Result<()> {
    rig.progress.step("kubectl careen history");
    let history: Value = kubectl.json("history", 0).await?;
    expect(&history[0]["answer"], "Upgraded")?;
    expect(&history[1]["answer"], "Failed")?;
    expect(&history[1]["code"], "BudgetBlocks")?;
    for (one, costs) in [
        (0, &["working", "cordoned", "notReady"][..]),
        (1, &["working", "cordoned"]),
    ] {
        let cost = &history[one]["seconds"];
        let counted = |what: &&str| cost[*what].as_u64().is_some_and(|seconds| seconds > 0);
        ensure!(costs.iter().all(counted), "it cost {cost}");
    }
    let back = plan(kubectl, names::KEPT_IMAGE).await?;
    let usual = back["usualSeconds"].as_u64().unwrap_or_default();
    ensure!(usual > 0, "no time is expected: {back}");
    Ok(())
}

fn expect(found: &Value, wanted: &str) -> Result<()> {
    ensure!(found == wanted, "it says {found}, not {wanted:?}");
    Ok(())
}
