//! Both deployments share kernel and initramfs, so the boot entries differ only in the deployment.
//! The node and the image have each added users, with the same id. All of them are in the new
//! system, and its services that run as them start.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "upgrade-with-the-same-kernel",
    core: false,
    disk: DiskKind::Bios,
    images: &["new-users"],
    run: |rig| Box::pin(run(rig)),
};

const ADD: &str = "useradd -r probe && id -u probe";
const USERS: &str =
    "for name in probe rig-etc rig-sysusers; do id -u $name; done | sort -u | wc -l";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("new-users")?;
    let probe = rig.guest.run(ADD).await?;
    let before = rig.before().await?;
    let kernel = rig.guest.run("uname -r").await?;
    rig.ask(&image).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.node
        .wait("the new kubelet", MINUTE, |view| view.kubelet == "v1.36.3")
        .await?;
    let users = rig.guest.run(USERS).await?;
    ensure!(users.trim() == "3", "users are missing or share an id");
    ensure!(
        rig.guest.run("id -u probe").await? == probe,
        "the node's own user has another id"
    );
    ensure!(
        rig.guest.run("uname -r").await? == kernel,
        "the kernel changed"
    );
    Ok(())
}
