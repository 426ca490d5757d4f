//! Somebody reboots the node after every step that the Node reports. Each time it comes up and
//! continues, and the upgrade succeeds.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-reboots-at-every-step",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const PHASES: [&str; 4] = ["Accepted", "Fetched", "Verified", "Deployed"];

/// Reboots past our inhibitor, as a person in a hurry does. It does not use logind, which since
/// systemd 257 also refuses root while a lock is held.
const REBOOT: &str = "systemctl --no-block --job-mode=replace-irreversibly start reboot.target";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    let mut hit = Vec::new();
    for phase in PHASES {
        let view = rig.wait_phase(phase, UPGRADE).await?;
        // The phase ended before the Node reported it, so it is too late to reboot in it.
        if view.phase() != phase {
            continue;
        }
        let boot = rig.boot_id().await?;
        rig.guest.run(REBOOT).await?;
        rig.progress.step(&format!("a person reboots in {phase}"));
        rig.wait_boot(Some(&boot)).await?;
        ensure!(
            rig.booted().await? == before.commit,
            "something else than the old system booted in {phase}"
        );
        hit.push(phase);
    }
    let view = rig.expect_upgraded(&before, &image).await?;
    ensure!(hit.len() >= 3, "it was rebooted in {hit:?} only");
    ensure!(
        view.status.is_some_and(|status| status.tries == 1),
        "a reboot before the trial was counted as one"
    );
    Ok(())
}
