//! `kubeadm upgrade node` of the new image fails each time. The system is not blessed without it,
//! and the old system comes back. The Node names kubeadm's path, its exit status and last line, and
//! the unit whose journal has the whole output.

use super::prelude::*;
use rig::node::View;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kubeadm-fails-falls-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["kubeadm-fails"],
    run: |rig| Box::pin(run(rig)),
};

/// What the Node says about it.
const ENDED: &str =
    "kubeadm upgrade node: /usr/bin/kubeadm ended with exit status 1: kubeadm: broken on purpose";

/// What the image's kubeadm prints before it fails (recipe.rs). The runbook sends the reader of the
/// reason there.
const LAST_WORDS: &str = "journalctl --quiet --boot=-1 --unit careen-kubeadm --output cat | grep -F 'kubeadm: broken on purpose' | wc -l";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubeadm-fails")?;
    let before = rig.before().await?;
    rig.policy("trials = 1\n[health]\ndeadline-seconds = 240")
        .await?;
    rig.ask(&image).await?;
    let view = rig.expect_fallback(&before, &["Unhealthy"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains(ENDED) && reason.contains("careen-kubeadm"),
        "the reason does not say how kubeadm ended, or name its unit: {reason}"
    );
    let history = rig.node.history();
    ensure!(
        history.iter().any(|seen| says(&seen.view, "KubeadmFailed")),
        "while the trial went on, the Node never said KubeadmFailed"
    );
    let times = rig.guest.run(LAST_WORDS).await?;
    ensure!(
        times.parse::<u32>().is_ok_and(|times| times >= 2),
        "the trial's journal has kubeadm's words {times} times; it is tried again after the first"
    );
    rig.expect_one_trial()
}

fn says(view: &View, code: &str) -> bool {
    let status = view.status.as_ref();
    status.is_some_and(|status| status.code.as_deref() == Some(code) && status.phase == "Trial")
}
