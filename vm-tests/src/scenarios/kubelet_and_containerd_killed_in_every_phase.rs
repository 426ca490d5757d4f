//! The kubelet and containerd are killed in every phase, the trial included: they come back, and the upgrade ends well.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "kubelet-and-containerd-killed-in-every-phase",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Every phase in which a node stays long enough; and those that it may pass before they are seen.
const PHASES: [&str; 7] = [
    "Accepted", "Fetched", "Verified", "Deployed", "Trial", "Healthy", "Blessed",
];

/// Early in a trial one of them may not be there yet. What has died too often in a row is let begin again: systemd counts our kills.
const KILL: &str = "systemctl kill --signal=KILL --kill-whom=main containerd kubelet; systemctl reset-failed containerd kubelet; :";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    let mut hit = Vec::new();
    for phase in PHASES {
        let view = rig.wait_phase(phase, UPGRADE).await?;
        // A phase that was over before the Node could tell of it is none to be killed in.
        if view.phase() == phase {
            rig.guest.run(KILL).await?;
            rig.progress.step(&format!("killed in {phase}"));
            hit.push(phase);
        }
    }
    rig.expect_upgraded(&before, &image).await?;
    ensure!(
        hit.contains(&"Accepted") && hit.contains(&"Trial"),
        "they were killed in {hit:?} only"
    );
    Ok(())
}
