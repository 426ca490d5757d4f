//! In a trial that fails, somebody runs a cleanup and makes the system on trial the default. The
//! old system remains and is the default again, the Node says what happened, and no pin is left.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "others-cannot-take-what-a-trial-falls-back-to",
    core: false,
    disk: DiskKind::Bios,
    images: &["check-fails"],
    run: |rig| Box::pin(run(rig)),
};

/// The check is retried until the others have done their part; only then does it count as failed.
const POLICY: &str = "[health]\ncheck-tries = 20";

/// The policy from then on. A check that has failed counts at once.
const JUDGE: &str = "[health]\ncheck-tries = 1";
/// What a person or a timer runs.
const CLEANUP: &str = "until mountpoint -q /boot; do sleep 0.2; done; ostree admin cleanup";
/// The trial is the second entry.
const SET_DEFAULT: &str =
    "OSTREE_GRUB2_EXEC=/usr/libexec/careen/careen-grub ostree admin set-default 1";
/// The number of pinned deployments.
const PINNED: &str = "ostree admin status --skip-signatures | grep -c Pinned || :";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("check-fails")?;
    rig.policy(POLICY).await?;
    let before = rig.before().await?;
    expect_pinned(rig, "0").await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_guest(CLEANUP).await?;
    expect_default(rig, &before.commit).await?;
    expect_pinned(rig, "1").await?;
    rig.progress.step("somebody has cleaned up");
    rig.wait_guest(SET_DEFAULT).await?;
    expect_default(rig, &image.digest).await?;
    rig.progress
        .step("somebody has made the system on trial the default");
    rig.wait_record("\"default_moved\": true", ":").await?;
    rig.policy(JUDGE).await?;
    let view = rig.expect_fallback(&before, &["UserCheck"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("another program had made this system the default"),
        "the verdict does not say who moved the default: {reason}"
    );
    rig.expect_one_trial()?;
    expect_default(rig, &before.commit).await?;
    expect_pinned(rig, "0").await
}

async fn expect_default(rig: &mut Rig, commit: &str) -> Result<()> {
    let default = rig.default_commit().await?;
    ensure!(default == commit, "the default is {default}, not {commit}");
    Ok(())
}

async fn expect_pinned(rig: &mut Rig, count: &str) -> Result<()> {
    let pinned = rig.guest.run(PINNED).await?;
    ensure!(
        pinned.trim() == count,
        "{pinned:?} deployments are pinned, not {count}"
    );
    Ok(())
}
