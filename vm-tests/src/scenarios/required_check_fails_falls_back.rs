//! The operator's own check says no; its last line is the reason.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "required-check-fails-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["check-fails"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("check-fails")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["UserCheck"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("the rig says no"),
        "the words of the check are lost: {reason}"
    );
    Ok(())
}
