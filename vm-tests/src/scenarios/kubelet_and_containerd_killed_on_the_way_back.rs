//! containerd is killed when the bad system was judged; in the old one the kubelet, containerd and both at once, when the node is about to be given
//! back, and while the new system is removed: the old system serves, and the Node says what was wrong with the new one.

use super::prelude::*;
use crate::rig::{EACH_AND_BOTH, In, LOGIND_GOES_ON, LOGIND_HANGS};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kubelet-and-containerd-killed-on-the-way-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

/// The deadman is due a minute behind the deadline, and containerd must be back by then. The hook waits until two programs have come back twice
/// each.
const POLICY: &str = "[health]\ndeadline-seconds = 150\n[hooks]\nseconds = 600";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    rig.hold_post_hook().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    // It would reboot at once. The kubelet of this image is dead as it is.
    rig.hang_logind().await?;
    let judged = on_the_way_back("\"name\": \"Reverting\"");
    rig.kill_in(judged, &["containerd"], "true").await?;
    rig.guest.run(LOGIND_GOES_ON).await?;

    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    // The step behind the hook, which removes the new system, waits for logind's lock.
    let hook = on_the_way_back("\"do\": \"PostHooks\"");
    rig.kill_in(hook, EACH_AND_BOTH, LOGIND_HANGS).await?;
    rig.let_post_hook_go().await?;
    let undo = on_the_way_back("\"do\": \"Undo\"");
    rig.kill_in(undo, EACH_AND_BOTH, LOGIND_GOES_ON).await?;

    rig.expect_failed(&["Unhealthy"], UPGRADE).await?;
    rig.expect_old_system(&before).await?;
    rig.expect_one_trial()?;
    rig.expect_clean().await?;
    rig.expect_told_as_recorded().await
}

const fn on_the_way_back(says: &str) -> In<'_> {
    In {
        says,
        phase: "Reverting",
    }
}
