//! The policy allows a blessing while the API server is away. The new system reaches the server,
//! and the server goes away during the soak: the system is blessed. A reboot comes before the
//! server is back. Then kubeadm runs once more, and the node becomes schedulable without manual
//! work.

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

/// Every check has passed, and the soak has begun.
const SOAKS: &str = "\"well_since\"";

/// kubeadm has succeeded in this boot, which is not a trial, and no kubelet restart is pending.
const CAUGHT_UP: &str = "! grep -q careen.trial /proc/cmdline && ls /run/careen/kubeadm-* | grep -vc owes-restart && ! ls /run/careen/kubeadm-owes-restart-*";

/// Reboots as soon as the agent, which is cleaning up, allows it.
const REBOOT: &str = "until systemctl reboot --no-block; do sleep 1; done";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy("[health]\nbless-without-api = true\ndeadline-seconds = 240\nsoak-seconds = 60")
        .await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    rig.wait_record(SOAKS, ":").await?;
    rig.progress.step("the API server goes away");
    rig.plane.stop_api_server();
    rig.wait_record(BLESSED, ":").await?;
    let trial = rig.boot_id().await?;
    let up = rig.record().await?.upgrade;
    ensure!(
        up.is_some_and(|up| up.api.from_new.is_some_and(|boot| boot.as_str() == trial)),
        "it was blessed alone without having reached the API server in its boot"
    );
    rig.progress.step("somebody reboots the node meanwhile");
    rig.wait_guest(REBOOT).await?;
    rig.wait_boot(Some(&trial)).await?;
    rig.progress.step("the API server comes back");
    rig.plane.start_api_server().await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.wait_guest(CAUGHT_UP).await?;
    rig.expect_one_trial()
}
