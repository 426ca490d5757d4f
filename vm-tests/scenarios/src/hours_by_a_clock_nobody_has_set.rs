//! The hardware clock has another time than the world, and no time service has set the system's
//! clock. By that clock the hours are open. The node is not touched until the policy trusts the
//! clock.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "hours-by-a-clock-nobody-has-set",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

/// The time that the hardware clock shows in the next boot: all certificates are valid by then.
const AHEAD: &str = "sync; date -u -d '+5 hours' +%Y-%m-%dT%H:%M:%S";

fn policy(more: &str) -> String {
    format!("[window]\nopen = [\"daily 00:00-24:00\"]\n{more}")
}

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    let first = rig.before().await?;
    rig.policy(&policy("")).await?;
    let ahead = rig.guest.run(AHEAD).await?;
    rig.cut_power()?;
    rig.power_on_at(ahead.trim()).await?;
    rig.wait_boot(Some(&first.boot)).await?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    let view = rig.wait_phase("Accepted", UPGRADE).await?;
    rig.wait_record("no time service has set", "true").await?;
    tokio::time::sleep(MINUTE).await;
    ensure!(
        rig.node.now().phase() == view.phase(),
        "hours of an unset clock began something"
    );
    rig.wait_record("trust-clock", "true").await?;
    rig.expect_schedulable()?;
    rig.progress.step("the policy trusts the clock");
    rig.policy(&policy("trust-clock = true")).await?;
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
