//! GRUB cannot write to a logical volume, so a one-shot would boot a bad trial forever. The request
//! is refused before anything is touched.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "boot-on-lvm-is-refused",
    core: false,
    disk: DiskKind::LvmBoot,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    rig.ask(&image).await?;
    rig.expect_failed(&["LoaderUnfit"], 2 * MINUTE).await?;
    ensure!(rig.repo.served() == 0, "something was fetched");
    rig.expect_untouched(&before, &traces).await
}
