//! The power goes when the new system is the default and nobody knows yet: it boots, and says Upgraded.

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
    // It says Upgraded when it has cleaned up, which takes seconds. Stopped where it stands, it never comes that far.
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
