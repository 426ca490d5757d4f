//! Both deployments share kernel and initramfs, so the boot entries differ only in the deployment.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "upgrade-with-the-same-kernel",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    let before = rig.before().await?;
    let kernel = rig.guest.run("uname -r").await?;
    rig.ask(&image).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.node
        .wait("the new kubelet", MINUTE, |view| view.kubelet == "v1.36.3")
        .await?;
    ensure!(
        rig.guest.run("uname -r").await? == kernel,
        "the kernel changed"
    );
    Ok(())
}
