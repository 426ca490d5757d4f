//! The power is cut four times around the trial, and the disk loses what it had not flushed. The
//! cuts are in the armed state, in the initramfs, in the new system, and after its blessing.
//! Whatever boots, the node continues on its own, and the upgrade succeeds.

use super::prelude::*;
use rig::fate::Fate;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cuts-around-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Each cut costs at most one trial, and the last trial is the good one.
const TRIALS: u32 = 5;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy(&format!("trials = {TRIALS}")).await?;
    // The cuts must not lose what the rig itself has written.
    rig.guest.run("sync").await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    let begin = rig.console().len();
    rig.lose_power_for_a_moment(Fate::Torn).await?;

    // The trial, or the old system, which arms once more.
    rig.wait_console(begin, names::TRIAL_ARGUMENT, 10 * MINUTE)
        .await?;
    let begin = rig.console().len();
    rig.wait_console(begin, "Running in initrd", MINUTE).await?;
    // The cut may also undo GRUB's clearing of the one-shot.
    rig.lose_power_for_a_moment(Fate::Lost).await?;

    rig.wait_trial().await?;
    rig.lose_power_for_a_moment(Fate::Torn).await?;

    rig.wait_record_in_any_boot("\"name\": \"Blessed\"").await?;
    rig.lose_power_for_a_moment(Fate::Torn).await?;
    rig.wait_boot(None).await?;

    let view = rig.expect_upgraded(&before, &image).await?;
    let tries = view.status.map_or(0, |status| status.tries);
    ensure!((2..=TRIALS).contains(&tries), "{tries} trials were counted");
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}
