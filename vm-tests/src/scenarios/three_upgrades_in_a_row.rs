//! After three upgrades the first system is gone, the last but one is kept, and the disk does not
//! fill up.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "three-upgrades-in-a-row",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2", "v3", "v4"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let mut used = Vec::new();
    let first = rig.before().await?;
    for name in ["v2", "v3", "v4"] {
        let image = rig.image(name)?;
        let before = rig.before().await?;
        rig.ask(&image).await?;
        rig.expect_upgraded(&before, &image).await?;
        rig.withdraw().await?;
        used.push(
            rig.guest
                .run("df --output=used -B1M /sysroot /boot | awk 'NR > 1 { sum += $1 } END { print sum }'")
                .await?
                .parse::<u64>()?,
        );
    }
    rig.progress
        .step(&format!("MiB used after each upgrade: {used:?}"));
    let status = rig.guest.run("ostree admin status").await?;
    ensure!(
        !status.contains(&first.commit),
        "the first system is still there:\n{status}"
    );
    ensure!(
        rig.deployments().await? == 2,
        "not two deployments:\n{status}"
    );
    ensure!(
        used[2] < used[1] + 100,
        "the third upgrade cost {} MiB for good",
        used[2] - used[1]
    );
    Ok(())
}
