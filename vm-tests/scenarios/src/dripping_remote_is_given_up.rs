//! The remote drips: too fast to count as dead, too slow to finish. Each try ends when its time is
//! up, the Node says which time limit that was, and nothing of the image stays. When the remote
//! drips no more, a new request fetches the whole image.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "dripping-remote-is-given-up",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Bytes per second. Over eight connections each one gets more than 1000, below which libostree
/// itself gives up a connection. Two tries fetch much less than the node lacks in total.
const DRIP: u64 = 20_000;

/// The shortest time limit that a fetch can have.
const POLICY: &str = "tries = 2\nretry-seconds = 1\n[limits]\nfetch-seconds = 60";
const NAMED: &str = "limits.fetch-seconds = 60 s";

/// A lower bound of what arrives within a minute, if the remote drips all the time.
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
    // A busy machine may need more than a minute.
    rig.policy("").await?;
    rig.expect_a_new_answer();
    rig.progress.step("the remote drips no more");
    rig.annotate(&[(names::UPGRADE_ID, Some("no-drip"))])
        .await?;
    rig.wait_phase("Fetched", UPGRADE).await?;
    rig.withdraw().await?;
    rig.expect_failed(&["Withdrawn"], 5 * MINUTE)
        .await
        .map(drop)
}

async fn objects(rig: &mut Rig) -> Result<u64> {
    Ok(rig.guest.run(OBJECTS).await?.parse()?)
}
