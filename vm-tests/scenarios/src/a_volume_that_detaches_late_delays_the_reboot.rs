//! A CSI driver detaches the volume of an evicted pod late. The agent names the volume on the Node
//! and arms nothing until the driver has detached it, although the Node no longer shows the volume.
//! Then the upgrade goes on to the reboot.

use super::prelude::*;
use rig::csi::{self, Driver, volume};
use rig::node::View;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-volume-that-detaches-late-delays-the-reboot",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

/// The limit must not end the wait, on a busy machine either.
const POLICY: &str = "[drain]\ndetach-seconds = 1800";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let client = rig.plane.client().await?;
    let driver = Driver::start(rig.dir()).await?;
    driver.introduce_to(&mut rig.guest).await?;
    let pod = volume::create(&client).await?;
    make_folder(rig, &pod).await?;
    volume::attach(&client).await?;
    volume::runs(&client).await?;
    rig.progress.step("a pod runs with a volume");
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    rig.ask(&image).await?;
    volume::detach_demanded(&client, UPGRADE).await?;
    rig.progress
        .step("the driver is asked to detach the volume");
    waits_for_the_volume(rig).await?;
    // Several looks of the agent, and more than one report of the kubelet.
    rig.wait_guest("sleep 30").await?;
    rig.expect_disarmed().await?;
    let view = waits_for_the_volume(rig).await?;
    ensure!(
        view.phase() == "Deployed" && rig.boot_id().await? == before.boot,
        "the upgrade went on with the volume attached: {view:#?}"
    );
    volume::detach(&client).await?;
    rig.progress.step("the volume is detached");
    rig.wait_phase("Armed", UPGRADE).await.map(drop)
}

/// The driver is a folder on the node. It must be there before the kubelet looks for what the
/// driver has mounted, and the kubelet removes the folders of pods that it does not know.
async fn make_folder(rig: &mut Rig, pod: &str) -> Result<()> {
    let folder = volume::folder(pod);
    let make =
        format!("until [ -d /var/lib/kubelet/pods/{pod} ]; do sleep 0.2; done; mkdir -p {folder}");
    rig.wait_guest(&make).await
}

async fn waits_for_the_volume(rig: &mut Rig) -> Result<View> {
    let name = format!("kubernetes.io/csi/{}^{}", csi::NAME, volume::HANDLE);
    let says = format!("waiting for 1 volume to detach: {name}");
    let waits = |view: &View| {
        let doing = view
            .status
            .as_ref()
            .and_then(|status| status.doing.as_ref());
        doing.is_some_and(|doing| doing.contains(&says))
    };
    rig.node.wait(&says, 2 * MINUTE, waits).await
}
