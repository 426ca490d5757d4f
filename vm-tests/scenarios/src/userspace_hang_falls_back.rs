//! Userspace hangs before the agent can start, and the deadman ends the trial.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "userspace-hang-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["hang"],
    run: |rig| Box::pin(run(rig)),
};

/// The agent's health deadline, in seconds.
const DEADLINE: u32 = 60;

/// The deadman is due a minute after the deadline. The margin allows for the console's clock, which
/// differs from the deadman's.
const DEADMAN: u32 = DEADLINE + 60 - 20;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("hang")?;
    let before = rig.before().await?;
    rig.policy(&format!(
        "trials = 1\n[health]\ndeadline-seconds = {DEADLINE}"
    ))
    .await?;
    rig.ask(&image).await?;
    rig.expect_failed(&["NoVerdict"], 2 * UPGRADE).await?;
    rig.expect_one_trial()?;
    rig.expect_trial_lasted(DEADMAN)?;
    rig.expect_old_system(&before).await
}
