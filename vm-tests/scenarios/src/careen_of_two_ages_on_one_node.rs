//! The current Careen and an old one (`aged/commit`), each with all its parts (agent,
//! careen-deploy, stage, units, dracut module). Each takes the node to a good image with the other
//! one, and the old one also to a bad image with the current one. Each judges, ends and reports
//! what the other began.

use std::process::{Command, Stdio};

use anyhow::Context;
use rig::images::Commit;
use testkit::programs;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "careen-of-two-ages-on-one-node",
    core: false,
    disk: DiskKind::Bios,
    images: &["check-fails", "v2", "v3"],
    run: |rig| Box::pin(run(rig)),
};

/// Builds the old Careen, and images with it. `make vm` runs the first part earlier, because a lane
/// has no network.
const BUILD: &str = "aged/build.sh";

/// What tells the two apart on the node.
const AGE: &str = "sha256sum /usr/libexec/careen/careen-agent";

async fn run(rig: &mut Rig) -> Result<()> {
    let [old_good] = of_the_old_one(["v2"])?;
    let (bad, good) = (rig.image("check-fails")?, rig.image("v3")?);
    let today = rig.guest.run(AGE).await?;

    upgraded(rig, &old_good).await?;
    let old = rig.guest.run(AGE).await?;
    ensure!(old != today, "both images have the same agent");

    rig.progress.step("the old one has the node");
    comes_back(rig, &bad).await?;
    upgraded(rig, &good).await?;
    let now = rig.guest.run(AGE).await?;
    ensure!(
        now == today,
        "the node has not come back to the agent of today"
    );
    rig.expect_clean().await
}

async fn comes_back(rig: &mut Rig, bad: &Commit) -> Result<()> {
    let before = rig.before().await?;
    rig.ask(bad).await?;
    let view = rig.expect_fallback(&before, &["UserCheck"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("the rig says no"),
        "what the other one found is lost: {reason}"
    );
    rig.withdraw().await
}

async fn upgraded(rig: &mut Rig, good: &Commit) -> Result<()> {
    let before = rig.before().await?;
    rig.ask(good).await?;
    rig.expect_upgraded(&before, good).await?;
    rig.withdraw().await
}

/// Images of these names with the old Careen.
fn of_the_old_one<const N: usize>(names: [&str; N]) -> Result<[Commit; N]> {
    let output = Command::new(programs::home().join(BUILD))
        .args(names)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {BUILD}"))?;
    ensure!(output.status.success(), "{BUILD}: {}", output.status);
    let said = String::from_utf8(output.stdout)?;
    let commits: Vec<_> = said.lines().filter_map(commit).collect();
    let found = commits.len();
    let all = commits.try_into().ok();
    all.with_context(|| format!("{BUILD} made {found} images, not {N}"))
}

/// `ostree:careen:<ref>@<digest>`.
fn commit(pinned: &str) -> Option<Commit> {
    let (before, digest) = pinned.rsplit_once('@')?;
    let (_, reference) = before.rsplit_once(':')?;
    Some(Commit {
        reference: reference.to_owned(),
        digest: digest.to_owned(),
    })
}
