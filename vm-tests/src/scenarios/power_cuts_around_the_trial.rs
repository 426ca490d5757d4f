//! The power goes four times around the trial, and with it what the disk had not flushed: armed, in the initramfs, in the new system,
//! behind its blessing. Whatever boots, the node goes on by itself, and the upgrade ends well.

use super::prelude::*;
use crate::soak::cut::Fate;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cuts-around-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Each cut costs one at most, and the last is the good one.
const TRIALS: u32 = 5;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy(&format!("trials = {TRIALS}")).await?;
    // What the rig itself has written is none of what is cut.
    rig.guest.run("sync").await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    let begin = rig.console().len();
    rig.lose_power_for_a_moment(Fate::Torn).await?;

    // The trial, or the old system that arms once more.
    rig.wait_console(begin, names::TRIAL_ARGUMENT, 10 * MINUTE)
        .await?;
    let begin = rig.console().len();
    rig.wait_console(begin, "Running in initrd", MINUTE).await?;
    // With it may go that GRUB has cleared the one-shot.
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
