//! The remote drips, too fast to be taken for dead and too slow to come to an end: each try ends when its time is up, the Node says which time
//! that was, and nothing of the image stays. A remote that does not drip upgrades the node.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "dripping-remote-is-given-up",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Bytes per second: over eight connections each has more than the 1000 below which libostree gives a line up by itself, and what comes in two
/// tries is far from all that the node lacks.
const DRIP: u64 = 20_000;

/// The shortest time that a fetch can be given.
const POLICY: &str = "tries = 2\nretry-seconds = 1\n[limits]\nfetch-seconds = 60";
const NAMED: &str = "limits.fetch-seconds = 60 s";

/// So much comes before a minute is over, if it drips all the time.
const CAME: u64 = 30 * DRIP;

const OBJECTS: &str = "find /sysroot/ostree/repo/objects -type f | wc -l";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    rig.policy(POLICY).await?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    let objects = objects(rig).await?;
    rig.repo.limit(DRIP);
    rig.ask(&image).await?;
    let view = rig.expect_failed(&["DeployDied"], 10 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(reason.contains(NAMED), "the limit is not named: {reason}");
    let served = rig.repo.served();
    ensure!(served > CAME, "only {served} bytes came: it did not drip");
    rig.expect_untouched(&before, &traces).await?;
    ensure!(rig.deployments().await? == 1, "something was deployed");
    let left = self::objects(rig).await?;
    ensure!(
        left <= objects,
        "{left} objects lie in the repository, {objects} did before"
    );

    rig.repo.limit(0);
    // A busy machine may need longer than a minute.
    rig.policy("").await?;
    rig.expect_a_new_answer();
    rig.progress.step("the remote drips no more");
    rig.annotate(&[(names::UPGRADE_ID, Some("no-drip"))])
        .await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}

async fn objects(rig: &mut Rig) -> Result<u64> {
    Ok(rig.guest.run(OBJECTS).await?.parse()?)
}
