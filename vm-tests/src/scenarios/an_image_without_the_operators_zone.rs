//! The operator's hours use a time zone that the new image does not know (it has no tzdata). All
//! other parts of the policy decide about its trial, and it is blessed. Then the agent refuses
//! every request, also for the next image, until the hours use a zone that exists.

use super::an_operators_policy_is_kept_on_the_way::hours::{ZONE, bring_the_zone};
use super::prelude::*;
use crate::node::View;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-image-without-the-operators-zone",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

const DOCTOR: &str = "/usr/libexec/careen/careen-agent doctor --json";

/// In seconds. By default there is no soak.
const SOAK: u64 = 60;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    let before = rig.before().await?;
    // For this boot only.
    bring_the_zone(rig).await?;
    rig.policy(&policy(ZONE)).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Trial", UPGRADE).await?;
    let soaks = |view: &View| code(view) == "Soaking";
    rig.node.wait("code Soaking", 5 * MINUTE, soaks).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;

    rig.progress.step("asking for the image that runs");
    asked_as(rig, "by-hours-of-no-zone").await?;
    let view = rig.expect_failed(&["BadPolicy"], 5 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    let says = format!("window.zone is \"{ZONE}\"");
    ensure!(reason.contains(&says), "which zone is not said: {reason}");
    let doctor = rig.guest.try_run(DOCTOR, 2 * MINUTE).await?;
    ensure!(doctor.text.contains(ZONE), "the doctor: {}", doctor.text);

    rig.progress.step("the hours are of UTC");
    rig.policy(&policy("UTC")).await?;
    asked_as(rig, "by-hours-of-utc").await?;
    rig.wait_answer(Answer::Upgraded, 5 * MINUTE).await?;
    rig.expect_runs(&image.digest).await
}

/// Hours that are always open, and a soak.
fn policy(zone: &str) -> String {
    format!(
        "[window]\nopen = [\"daily 00:00-24:00\"]\nzone = \"{zone}\"\ntrust-clock = true\n[health]\nsoak-seconds = {SOAK}"
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
