//! An image whose initramfs does not contain our guard is refused, and nothing changes. If the
//! policy allows it, it is tried once and blessed like any other. The Node and the journal say that
//! nothing guarded it.
//!
//! The operator's hours use a time zone that the image does not know (it has no tzdata). All other
//! parts of the policy decide about its trial. Then the agent refuses every request, also for the
//! next image, until the hours use a zone that exists.

use super::an_operators_policy_is_kept_on_the_way::hours::{ZONE, bring_the_zone};
use super::prelude::*;
use rig::images::Commit;
use rig::node::View;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-image-without-guard-or-zone-wants-the-policys-word",
    core: false,
    disk: DiskKind::Bios,
    images: &["no-stage"],
    run: |rig| Box::pin(run(rig)),
};

const DOCTOR: &str = "/usr/libexec/careen/careen-agent doctor --json";

/// In seconds. By default there is no soak.
const SOAK: u64 = 30;

/// The journal's entry about its end.
const SAID: &str =
    "journalctl --quiet --unit careen-agent --output cat UPGRADE_ID=unguarded PHASE=Upgraded";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("no-stage")?;
    // For this boot only.
    bring_the_zone(rig).await?;
    let before = rig.before().await?;
    refused_without_the_guard(rig, &before, &image).await?;
    rig.progress
        .step("the policy lets it through; asking again, by a new id");
    rig.policy(&policy(ZONE)).await?;
    asked_as(rig, "unguarded").await?;
    rig.wait_phase("Trial", UPGRADE).await?;
    let soaks = |view: &View| code(view) == "Soaking";
    rig.node.wait("code Soaking", 5 * MINUTE, soaks).await?;
    let view = rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    let unguarded = view.status.is_some_and(|status| status.unguarded);
    ensure!(unguarded, "the Node does not say that nothing guarded it");
    // The agent updates the Node before it writes to the journal.
    rig.wait_guest(&format!(
        "until {SAID} | grep -q 'does not have a guard'; do sleep 1; done"
    ))
    .await?;
    rig.expect_clean().await?;
    refused_without_the_zone(rig).await?;
    rig.progress.step("the hours are of UTC");
    rig.policy(&policy("UTC")).await?;
    asked_as(rig, "by-hours-of-utc").await?;
    rig.wait_answer(Answer::Upgraded, 5 * MINUTE).await?;
    rig.expect_runs(&image.digest).await
}

async fn refused_without_the_guard(rig: &mut Rig, before: &Before, image: &Commit) -> Result<()> {
    let traces = rig.traces().await?;
    rig.ask(image).await?;
    let view = rig.expect_failed(&["NoStage"], 5 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("unguarded = true"),
        "what would let it through is not named: {reason}"
    );
    rig.expect_untouched(before, &traces).await?;
    ensure!(rig.deployments().await? == 1, "something was deployed");
    Ok(())
}

async fn refused_without_the_zone(rig: &mut Rig) -> Result<()> {
    rig.progress.step("asking for the image that runs");
    asked_as(rig, "by-hours-of-no-zone").await?;
    let view = rig.expect_failed(&["BadPolicy"], 5 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    let says = format!("window.zone is \"{ZONE}\"");
    ensure!(reason.contains(&says), "which zone is not said: {reason}");
    let doctor = rig.guest.try_run(DOCTOR, 2 * MINUTE).await?;
    ensure!(doctor.text.contains(ZONE), "the doctor: {}", doctor.text);
    Ok(())
}

/// Hours that are always open, a soak, and no need of a guard.
fn policy(zone: &str) -> String {
    format!(
        "unguarded = true\n[window]\nopen = [\"daily 00:00-24:00\"]\nzone = \"{zone}\"\ntrust-clock = true\n[health]\nsoak-seconds = {SOAK}"
    )
}

async fn asked_as(rig: &mut Rig, id: &str) -> Result<()> {
    rig.expect_a_new_answer();
    rig.annotate(&[(names::UPGRADE_ID, Some(id))]).await
}

fn code(view: &View) -> &str {
    let status = view.status.as_ref();
    status
        .and_then(|status| status.code.as_deref())
        .unwrap_or_default()
}
