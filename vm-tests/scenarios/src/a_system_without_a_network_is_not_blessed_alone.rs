//! The policy allows a blessing without an API server, and the new system has no network. The old
//! system used that server for the drain, so the new one is not blessed. One trial does not show
//! that the image is the cause.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-system-without-a-network-is-not-blessed-alone",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-network"],
    run: |rig| Box::pin(run(rig)),
};

/// The trial's journal names what the system lacks.
const SAID: &str = "journalctl -b -1 -u careen-agent | grep -q 'network device .*does not know whether the API server is up'";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-network")?;
    let before = rig.before().await?;
    // The first line belongs to the top of the file.
    rig.policy(
        "trials = 1\n[health]\nbless-without-api = true\ndeadline-seconds = 240\napi-away-hold-seconds = 10",
    )
    .await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["ApiAwayInTrial"]).await?;
    rig.wait_guest(SAID).await?;
    rig.expect_one_trial()
}
