//! A kernel that panics in the trial reboots on its own and is tried a second time. Then the old
//! system stays.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kernel-panic-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["panic"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("panic")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["NoVerdict"]).await?;
    ensure!(
        rig.trials() == 2,
        "there were {} trial boots, not 2",
        rig.trials()
    );
    Ok(())
}
