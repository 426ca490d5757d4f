//! Nearly all memory is taken while the node fetches, verifies, deploys and drains: the upgrade ends well, and the agent stays small.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "memory-is-short-during-the-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Keeps all that is available but for 256 MiB: tail holds its whole last line, and the stream of zeros has no other.
const TAKE: &str = "size=$(awk '/^MemAvailable:/ { print int($2 / 1024) - 256 }' /proc/meminfo) && systemd-run --quiet --unit=hog --property=OOMScoreAdjust=1000 sh -c \"(head -c ${size}M /dev/zero; sleep infinity) | tail\" && echo $size";

/// What the agent's unit allows it, in bytes (careen-agent.service).
const AGENT: u64 = 512 << 20;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let taken = rig.guest.run(TAKE).await?;
    rig.progress.step(&format!("{taken} MiB are taken"));
    rig.ask(&image).await?;
    rig.wait_phase("Deployed", UPGRADE).await?;
    let peak = rig
        .guest
        .run("systemctl show --value -p MemoryPeak careen-agent")
        .await?;
    ensure!(
        peak.parse::<u64>().is_ok_and(|peak| peak < AGENT),
        "the agent had {peak} bytes at its peak"
    );
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}
