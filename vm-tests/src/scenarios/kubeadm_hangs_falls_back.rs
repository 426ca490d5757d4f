//! `kubeadm upgrade node` of the new image hangs forever. It times out each time, the system is not
//! blessed without it, and the Node names it.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kubeadm-hangs-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubeadm-hangs"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubeadm-hangs")?;
    let before = rig.before().await?;
    rig.policy("trials = 1\n[health]\ndeadline-seconds = 240")
        .await?;
    rig.ask(&image).await?;
    let view = rig
        .expect_fallback(&before, &["Unhealthy", "KubeadmFailed"])
        .await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("kubeadm"),
        "the reason does not name kubeadm: {reason}"
    );
    rig.expect_one_trial()
}
