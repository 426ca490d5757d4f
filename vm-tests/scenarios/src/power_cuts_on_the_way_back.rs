//! The power is cut four times around the fallback from a bad image, and the disk loses what it had
//! not flushed. The cuts are in the trial, after its verdict, in the cleanup, and after the answer.
//! The old system serves, and the Node says why.

use super::prelude::*;
use rig::fate::Fate;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cuts-on-the-way-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

/// A cut may lose a trial's verdict; none may lose the last one.
const POLICY: &str = "trials = 5\n[health]\ndeadline-seconds = 60";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    // The cuts must not lose what the rig itself has written.
    rig.guest.run("sync").await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    rig.lose_power_for_a_moment(Fate::Lost).await?;

    for (piece, fate) in [
        ("\"name\": \"Reverting\"", Fate::Torn),
        ("\"do\": \"Undo\"", Fate::Torn),
        ("\"name\": \"Failed\"", Fate::Lost),
    ] {
        rig.wait_boot(None).await?;
        rig.wait_record_in_any_boot(piece).await?;
        rig.lose_power_for_a_moment(fate).await?;
    }
    rig.wait_boot(None).await?;

    rig.expect_failed(&["Unhealthy"], UPGRADE).await?;
    rig.expect_old_system(&before).await?;
    ensure!(
        rig.deployments().await? == 1,
        "the bad image is still deployed"
    );
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}
