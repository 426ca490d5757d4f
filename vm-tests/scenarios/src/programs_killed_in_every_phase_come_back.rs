//! The kubelet, containerd and both at once are killed in every phase up to the blessing, and then
//! the agent. They come back, each new agent continues where the old one stopped, and the upgrade
//! succeeds.
//!
//! Some phases last only a few milliseconds, so each is held open. One of the operator's own
//! programs holds it where one runs. In the other phases logind hangs, and a step waits for its
//! lock.

use super::prelude::*;
use rig::{After, EACH_AND_BOTH, HELD_BY_PROGRAMS, In, LOGIND_GOES_ON, LOGIND_HANGS, killed_in};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "programs-killed-in-every-phase-come-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// A hook waits until both programs have come back twice.
const POLICY: &str = "[hooks]\nseconds = 600";

/// At this rate the fetch takes minutes, much longer than the kills during it.
const SLOW: u64 = 100_000;

const NOTHING: &str = ":";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    rig.guest.run(HELD_BY_PROGRAMS).await?;
    rig.repo.limit(SLOW);
    rig.ask(&image).await?;
    kill(rig, "Accepted", NOTHING, After::AgentDies).await?;
    rig.repo.limit(0);
    kill(rig, "Fetched", LOGIND_HANGS, After::AgentDies).await?;
    kill(rig, "Verified", LOGIND_GOES_ON, After::AgentDies).await?;
    kill(rig, "Deployed", LOGIND_HANGS, After::AgentDies).await?;
    kill(rig, "Drained", NOTHING, After::AgentDies).await?;
    // `Armed` is the shutdown, and its agent has already asked for the reboot.
    kill(rig, "Armed", LOGIND_GOES_ON, After::AgentGoesOn).await?;
    rig.wait_boot(Some(&before.boot)).await?;
    kill(rig, "Trial", LOGIND_HANGS, After::AgentDies).await?;
    kill(rig, "Healthy", LOGIND_GOES_ON, After::AgentDies).await?;
    kill(rig, "Blessed", NOTHING, After::AgentDies).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}

/// Kills each program and both, then runs `then`, before the phase may end.
async fn kill(rig: &mut Rig, phase: &str, then: &str, after: After) -> Result<()> {
    let says = format!("\"name\": \"{phase}\"");
    let step = In { says: &says, phase };
    let then = format!("{then} && {}", killed_in(phase));
    rig.kill_in(step, EACH_AND_BOTH, &then, after).await
}
