//! The kubelet of a bad image never becomes healthy. It gets one trial, the old system is back and
//! schedulable, and the Node says why. Then nothing happens until somebody makes a new request,
//! with a new id or by removing and setting the request again.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "bad-image-is-tried-then-refused",
    core: true,
    disk: DiskKind::Bios,
    images: &["kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("kubelet-crash")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 240").await?;
    rig.ask(&image).await?;
    falls_back(rig, &before).await?;
    nothing_happens(rig).await?;

    rig.progress
        .step("the same request with one more annotation");
    rig.expect_a_new_answer();
    rig.annotate(&[(names::KUBERNETES_VERSION, Some("v1.36.3"))])
        .await?;
    rig.expect_failed(&["RememberedBad"], MINUTE).await?;
    nothing_happens(rig).await?;

    rig.progress.step("asking again with a new id");
    rig.expect_a_new_answer();
    rig.annotate(&[(names::UPGRADE_ID, Some("once-more"))])
        .await?;
    taken_up_and_withdrawn(rig).await?;

    rig.progress
        .step("asking again by removing and setting the request, without an id");
    rig.annotate(&[(names::UPGRADE_ID, None)]).await?;
    rig.ask(&image).await?;
    taken_up_and_withdrawn(rig).await?;
    rig.expect_one_trial()?;
    rig.expect_old_system(&before).await
}

/// A definite verdict, so there is no second trial.
async fn falls_back(rig: &mut Rig, before: &Before) -> Result<()> {
    let view = rig.expect_fallback(before, &["Unhealthy"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("kubelet"),
        "the reason does not name the kubelet: {reason}"
    );
    rig.expect_one_trial()
}

/// The request is still on the Node. An agent that restarts also knows that it was answered.
async fn nothing_happens(rig: &mut Rig) -> Result<()> {
    let told = rig.node.now();
    rig.progress
        .step("the same request is still on the Node, and nothing may happen");
    rig.guest
        .run("systemctl restart careen-agent; sleep 20")
        .await?;
    let now = rig.node.now();
    ensure!(
        (&now.answer, &now.reason, now.phase()) == (&told.answer, &told.reason, told.phase()),
        "the answer changed unasked, from {told:#?} to {now:#?}"
    );
    rig.expect_one_trial()
}

/// This only checks that the agent accepts the request. Its trial's outcome was checked before.
async fn taken_up_and_withdrawn(rig: &mut Rig) -> Result<()> {
    rig.wait_phase("Accepted", UPGRADE).await?;
    rig.withdraw().await?;
    rig.expect_failed(&["Withdrawn"], 2 * MINUTE).await?;
    Ok(())
}
