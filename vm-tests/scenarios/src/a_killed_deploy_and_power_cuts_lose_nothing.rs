//! careen-deploy is killed while /boot is frozen for the swap, and the node thaws it. Then the
//! power is cut while the next run writes the new system, when the one-shot is written, in the
//! initramfs of the trial, and between the blessing and the report. The old system boots where
//! nothing is proven, each one-shot is one trial, and the blessed system boots and reports
//! Upgraded.
//!
//! The rig freezes /boot itself, at another moment of the same run. libostree's own freeze lasts
//! milliseconds, too short to hit with a kill from outside.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-killed-deploy-and-power-cuts-lose-nothing",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const DEPLOYS: &str = "pgrep -f 'careen-deploy deploy' >/dev/null";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    killed_while_frozen(rig).await?;
    cut_while_deploying(rig, &before).await?;
    cut_while_armed(rig).await?;
    cut_in_the_initramfs(rig, &before).await?;
    cut_between_bless_and_report(rig, &image.digest).await?;
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        view.status.is_some_and(|status| status.tries == 2),
        "there were more or fewer trials than the lost one and the good one"
    );
    Ok(())
}

async fn killed_while_frozen(rig: &mut Rig) -> Result<()> {
    rig.wait_guest(&format!("until {DEPLOYS}; do sleep 0.05; done"))
        .await?;
    rig.wait_guest("sleep 1; fsfreeze --freeze /boot && pkill -9 -f 'careen-deploy deploy'")
        .await?;
    rig.progress.step("killed with /boot frozen");
    rig.guest
        .run("touch /boot/thawed && rm /boot/thawed")
        .await
        .map(drop)
}

/// The agent starts careen-deploy again when its pause before the retry is over.
async fn cut_while_deploying(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.wait_guest(&format!("until {DEPLOYS}; do sleep 0.1; done; sleep 2"))
        .await?;
    let deploys = rig.guest.try_run(DEPLOYS, MINUTE).await?;
    rig.cut_power()?;
    ensure!(
        deploys.code == 0,
        "the deployment was there before the power went"
    );
    old_system_boots(rig, before).await
}

/// The next boot is the trial, as intended.
async fn cut_while_armed(rig: &mut Rig) -> Result<()> {
    // The agent records this after it has flushed the one-shot to the disk, and requests the reboot
    // after that.
    rig.wait_record("\"do\": \"Reboot\"", ":").await?;
    rig.cut_power()?;
    let (from, boots) = (rig.console().len(), rig.boots());
    rig.power_on().await?;
    rig.wait_console(from, names::TRIAL_ARGUMENT, 3 * MINUTE)
        .await?;
    rig.wait_console(from, "Running in initrd", MINUTE).await?;
    ensure!(
        rig.boots() == boots + 1 && rig.trials() == 1,
        "the boot after the power cut was no trial"
    );
    Ok(())
}

/// The one-shot is used up, so the old system boots and arms once more.
async fn cut_in_the_initramfs(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.cut_power()?;
    old_system_boots(rig, before).await
}

async fn cut_between_bless_and_report(rig: &mut Rig, commit: &str) -> Result<()> {
    let old = rig.boot_id().await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&old)).await?;
    // The agent reports Upgraded after its cleanup, which takes seconds. It is stopped before that.
    rig.wait_record("\"name\": \"Blessed\"", "pkill -STOP -x careen-agent")
        .await?;
    rig.progress.step("blessed");
    ensure!(
        rig.node.now().answer.as_deref() == Some(Answer::InProgress.as_str()),
        "the Node was told before the power went: {:#?}",
        rig.node.now()
    );
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == commit,
        "the blessed system is not the default"
    );
    Ok(())
}

async fn old_system_boots(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    Ok(())
}
