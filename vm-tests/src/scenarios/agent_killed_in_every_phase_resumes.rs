//! The agent is killed in every phase in which it runs. Each new agent continues where the old one
//! stopped, and the upgrade succeeds.
//!
//! Some phases last only a few milliseconds, so each is held open until its agent was killed. One
//! of the operator's own programs holds it where one runs. In the other phases logind hangs, and a
//! step waits for its lock.

use anyhow::Context;
use upgrade::Record;

use super::prelude::*;
use crate::rig::{HELD_BY_PROGRAMS, LOGIND_GOES_ON, LOGIND_HANGS, killed_in};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "agent-killed-in-every-phase-resumes",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const NOTHING: &str = ":";

/// Much less than the node lacks of the image, per second.
const SLOW: u64 = 1_000_000;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.guest.run(HELD_BY_PROGRAMS).await?;
    rig.repo.limit(SLOW);
    rig.ask(&image).await?;
    kill(rig, "Accepted", NOTHING).await?;
    rig.repo.limit(0);
    kill(rig, "Fetched", NOTHING).await?;
    kill(rig, "Verified", NOTHING).await?;
    kill(rig, "Deployed", LOGIND_HANGS).await?;
    kill(rig, "Drained", LOGIND_GOES_ON).await?;
    // `Armed` is the shutdown.
    rig.wait_boot(Some(&before.boot)).await?;
    kill(rig, "Trial", LOGIND_HANGS).await?;
    kill(rig, "Healthy", LOGIND_GOES_ON).await?;
    kill(rig, "Blessed", NOTHING).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}

/// Kills the agent as soon as it runs and the record names this phase, and runs `then` before the
/// next agent starts. (The guard enters `Trial` long before an agent runs.) The record that the
/// killed agent leaves proves that it came no further.
async fn kill(rig: &mut Rig, phase: &str, then: &str) -> Result<()> {
    let folder = format!("/sysroot/{}", names::STATE_DIR);
    let script = format!(
        "until grep -qsF '\"name\": \"{phase}\"' {folder}/record.a {folder}/record.b && systemctl --quiet is-active careen-agent; do sleep 0.05; done
systemctl kill --signal=KILL --kill-whom=main careen-agent && {then} && {} &&
  /usr/libexec/careen/careen-agent record",
        killed_in(phase)
    );
    let text = rig.guest.run_within(&script, UPGRADE).await?;
    let record: Record = serde_json::from_str(&text)
        .with_context(|| format!("killed in {phase}, the record is {text:?}"))?;
    let left = record.upgrade.as_ref().map_or("", |up| up.phase.name());
    ensure!(
        left == phase,
        "the agent was to be killed in {phase}, and by then was in {left:?}"
    );
    rig.progress.step(&format!("kill -9 in {phase}"));
    Ok(())
}
