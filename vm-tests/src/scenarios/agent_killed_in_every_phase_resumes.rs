//! The agent is killed in every phase and goes on where it was.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "agent-killed-in-every-phase-resumes",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    for phase in [
        "Accepted", "Fetched", "Verified", "Deployed", "Drained", "Trial", "Healthy", "Blessed",
    ] {
        let view = rig.wait_phase(phase, UPGRADE).await?;
        if view.phase() == "Upgraded" {
            break;
        }
        rig.progress.step(&format!("kill -9 in {}", view.phase()));
        // Between the two boots there is nobody to kill and nobody to answer.
        rig.guest
            .try_run("systemctl kill --signal=KILL careen-agent", MINUTE)
            .await
            .ok();
    }
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
