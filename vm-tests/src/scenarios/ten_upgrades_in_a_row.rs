//! Ten upgrades in a row on one node, to a new image and then to and fro between the two that it keeps: disk, /boot, record and notes stay
//! as large as they were.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "ten-upgrades-in-a-row",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const UPGRADES: usize = 10;

/// MiB on both file systems, and bytes of what is ours.
const USED: &str =
    "sync; df --output=used -B1M /sysroot /boot | awk 'NR > 1 { sum += $1 } END { print sum }'";
const OURS: &str = "du --bytes --summarize /sysroot/ostree/careen | cut -f1";

/// The record tells of the last ten upgrades, and of no more; the journal grows up to its own bound.
const MORE: u64 = 64;
const MORE_OF_OURS: u64 = 64 << 10;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let first = rig.before().await?;
    let mut sizes = Vec::new();
    for number in 1..=UPGRADES {
        if number == 1 {
            rig.ask(&image).await?;
        } else {
            rig.ask_raw(names::KEPT_IMAGE).await?;
        }
        rig.wait_answer(Answer::Upgraded, UPGRADE).await?;
        let commit = if number % 2 == 1 {
            &image.digest
        } else {
            &first.commit
        };
        rig.expect_runs(commit).await?;
        rig.expect_clean().await?;
        rig.withdraw().await?;
        let used: u64 = rig.guest.run(USED).await?.parse()?;
        let ours: u64 = rig.guest.run(OURS).await?.parse()?;
        rig.progress.step(&format!(
            "upgrade {number}: {used} MiB used, {ours} bytes of ours"
        ));
        sizes.push((used, ours));
    }
    // From the second on both systems are there.
    let ((used, ours), (used_last, ours_last)) = (sizes[1], sizes[UPGRADES - 1]);
    ensure!(
        used_last <= used + MORE && ours_last <= ours + MORE_OF_OURS,
        "it grows: {sizes:?}"
    );
    Ok(())
}
