//! A node-health operator takes a node in its trial for dead and resets the machine, in each of its
//! trials. The upgrade fails and says how far the trial had come. The image is not blamed.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-node-health-operator-resets-the-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

/// Until the agent has noted how far this trial has come, and some seconds more.
const NOTED: &str = "until grep -qs $(cat /proc/sys/kernel/random/boot_id) /sysroot/ostree/careen/trial.json; do sleep 0.5; done; sleep 5";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    let before = rig.before().await?;
    // A long soak keeps a good trial from its verdict.
    rig.policy("trials = 2\n[health]\nsoak-seconds = 3600")
        .await?;
    rig.ask(&image).await?;
    let mut old = before.boot.clone();
    for _ in 0..2 {
        rig.wait_armed().await?;
        let trial = rig.wait_boot(Some(&old)).await?;
        rig.wait_guest(NOTED).await?;
        rig.reset().await?;
        old = rig.wait_boot(Some(&trial)).await?;
    }
    let view = rig.expect_failed(&["NoVerdict"], 2 * UPGRADE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("reset from outside") && reason.contains("s after its boot"),
        "the reason does not say how the trial ended, or how far it came: {reason}"
    );
    let record = rig.record().await?;
    ensure!(
        record.bad.is_empty(),
        "the image is condemned: {:?}",
        record.bad
    );
    rig.expect_old_system(&before).await
}
