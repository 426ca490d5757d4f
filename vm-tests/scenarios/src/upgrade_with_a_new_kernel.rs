//! An annotated node upgrades itself to another kernel and another kubelet. There is one trial
//! boot, and the new system is the default.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "upgrade-with-a-new-kernel",
    core: true,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let kernel = rig.guest.run("uname -r").await?;
    rig.forget_base().await?;
    rig.ask(&image).await?;
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(
        view.status.is_some_and(|status| status.tries == 1),
        "it took more than one trial boot"
    );
    rig.node
        .wait("the new kubelet", MINUTE, |view| view.kubelet == "v1.36.3")
        .await?;
    ensure!(
        rig.guest.run("uname -r").await? != kernel,
        "the kernel is still {kernel}"
    );
    let client = rig.plane.client().await?;
    workload::wait_until_running(&client, 3 * MINUTE).await
}
