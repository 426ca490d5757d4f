//! The policy lets a system be blessed while the API server is away. Then kubeadm has never run in it, and runs when the server is back, also behind
//! another reboot: the node is given back with nothing left to do by hand.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-site-without-a-steady-api-server",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const BLESSED: &str = "\"name\": \"Blessed\"";

/// kubeadm has succeeded in this boot, which is no trial, and no restart of the kubelet is owed.
const CAUGHT_UP: &str = "! grep -q careen.trial /proc/cmdline && ls /run/careen/kubeadm-* | grep -vc owes-restart && ! ls /run/careen/kubeadm-owes-restart-*";

/// As soon as the agent lets it, which is tidying up.
const REBOOT: &str = "until systemctl reboot --no-block; do sleep 1; done";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy("[health]\nbless-without-api = true\ndeadline-seconds = 300")
        .await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.progress.step("the API server goes away");
    rig.plane.stop_api_server();
    rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_record(BLESSED, ":").await?;
    ensure!(
        rig.record().await?.upgrade.is_some_and(|up| up.kubeadm_due),
        "blessed without an API server, kubeadm is not due"
    );
    let trial = rig.boot_id().await?;
    rig.progress.step("somebody reboots the node meanwhile");
    rig.wait_guest(REBOOT).await?;
    rig.wait_boot(Some(&trial)).await?;
    rig.progress.step("the API server comes back");
    rig.plane.start_api_server().await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.wait_guest(CAUGHT_UP).await?;
    rig.expect_one_trial()
}
