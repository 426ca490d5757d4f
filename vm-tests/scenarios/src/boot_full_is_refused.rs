//! /boot has no room for another kernel. The Node says so before anything is deployed.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "boot-full-is-refused",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.guest
        .run("dd if=/dev/zero of=/boot/full bs=1M 2>/dev/null || :; sync")
        .await?;
    let traces = rig.traces().await?;
    rig.ask(&image).await?;
    let view = rig.expect_failed(&["NoRoom"], UPGRADE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("/boot"),
        "the reason does not name /boot: {reason}"
    );
    ensure!(rig.deployments().await? == 1, "something was deployed");
    rig.expect_untouched(&before, &traces).await
}
