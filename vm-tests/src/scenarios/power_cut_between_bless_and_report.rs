//! The power is cut when the new system is the default and the Node does not say so yet. The new
//! system boots and reports Upgraded.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "power-cut-between-bless-and-report",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
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
        rig.booted().await? == image.digest,
        "the blessed system is not the default"
    );
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
