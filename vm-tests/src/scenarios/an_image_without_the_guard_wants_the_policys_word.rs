//! An image whose initramfs does not contain our guard is refused, and nothing changes. If the
//! policy allows it, it is tried once and blessed like any other. The Node and the journal say that
//! nothing guarded it.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-image-without-the-guard-wants-the-policys-word",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-stage"],
    run: |rig| Box::pin(run(rig)),
};

/// The journal's entry about its end.
const SAID: &str =
    "journalctl --quiet --unit careen-agent --output cat UPGRADE_ID=unguarded PHASE=Upgraded";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-stage")?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    rig.ask(&image).await?;
    let view = rig.expect_failed(&["NoStage"], 5 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("unguarded = true"),
        "what would let it through is not named: {reason}"
    );
    rig.expect_untouched(&before, &traces).await?;
    ensure!(rig.deployments().await? == 1, "something was deployed");

    rig.progress
        .step("the policy lets it through; asking again, by a new id");
    rig.policy("unguarded = true").await?;
    rig.expect_a_new_answer();
    rig.annotate(&[(names::UPGRADE_ID, Some("unguarded"))])
        .await?;
    let view = rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    let unguarded = view.status.is_some_and(|status| status.unguarded);
    ensure!(unguarded, "the Node does not say that nothing guarded it");
    // The agent updates the Node before it writes to the journal.
    rig.wait_guest(&format!(
        "until {SAID} | grep -q 'does not have a guard'; do sleep 1; done"
    ))
    .await?;
    rig.expect_clean().await
}
