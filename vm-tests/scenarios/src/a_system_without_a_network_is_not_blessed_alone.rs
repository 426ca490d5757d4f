//! The new system has no network. The old system used the API server for the drain, so the image is
//! at fault, in its only trial. That is so whether or not the policy allows a blessing without an
//! API server.

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

/// The first line belongs to the top of the file.
const POLICY: &str = "trials = 1\n[health]\ndeadline-seconds = 240\napi-away-hold-seconds = 10";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-network")?;
    let before = rig.before().await?;
    rig.policy(&format!("{POLICY}\nbless-without-api = true"))
        .await?;
    rig.ask(&image).await?;
    rig.expect_fallback(&before, &["NoApiFromNewSystem"])
        .await?;
    rig.wait_guest(SAID).await?;
    rig.expect_one_trial()?;
    without_the_key(rig).await
}

/// The image is here, so the second upgrade costs little more than its trial.
async fn without_the_key(rig: &mut Rig) -> Result<()> {
    let before = rig.before().await?;
    rig.policy(POLICY).await?;
    rig.expect_a_new_answer();
    rig.progress.step("asking again, without bless-without-api");
    rig.annotate(&[(names::UPGRADE_ID, Some("without-the-key"))])
        .await?;
    rig.expect_fallback(&before, &["NoApiFromNewSystem"])
        .await?;
    rig.wait_guest(SAID).await
}
