//! A node under an operator's policy. First it is opted out, then its hours are over by the clock
//! of their zone, and breaking the file meanwhile changes nothing. When the hours come, the hooks
//! run and load balancers are told before the drain. The pods leave in order, and the new system
//! soaks before it is blessed. The Node, its Events, the metrics and the journal show all of this.

use rig::node::View;
use tokio::time::Instant;

use self::asked::{ID, LAST, LATE, LOAD_BALANCERS, SHORTER_SOAK, SOAK, expect_condition};
use self::hours::{Hours, ZONE, ZONE_WITHOUT_A_FILE};
use super::prelude::*;

mod asked;
mod events;
pub(super) mod hours;
mod metrics;
mod users;
mod watching;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-operators-policy-is-kept-on-the-way",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    let client = rig.plane.client().await?;
    users::pods(&client).await?;
    users::hooks(rig).await?;
    hours::bring_the_zone(rig).await?;
    let hours = Hours::around_now()?;

    opted_out(rig, &image.pinned(), &before).await?;
    broken_before(rig, &hours).await?;
    closed(rig, &hours).await?;
    broken_meanwhile(rig, &hours).await?;

    rig.progress.step("the hours are open");
    rig.policy(&policy(&hours, "UTC")).await?;
    hours::take_the_zone_away(rig).await?;
    restart(rig).await?;
    users::excluded_then_drained(rig, &client).await?;
    let cordoned = Instant::now();
    users::leave_in_order(&client).await?;
    soaked(rig).await?;
    users::given_back(rig, &client).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    users::expect_served(rig, &client).await?;
    watching::expect_told(rig, cordoned).await
}

/// The policy except for the zone, which decides whether the hours are open.
fn policy(hours: &Hours, zone: &str) -> String {
    format!(
        r#"[window]
open = ["{hours}"]
zone = "{zone}"
trust-clock = true
[hooks]
seconds = 600
[load-balancer]
exclude = true
wait-seconds = {LOAD_BALANCERS}
[health]
soak-seconds = {SHORTER_SOAK}
[metrics]
listen = "{}"
[[drain.order]]
namespaces = ["{}"]"#,
        metrics::LISTEN,
        LAST.0
    )
}

/// The error for a policy with a zone that this system does not have. The rig's line with the
/// remotes comes first.
fn complaint() -> String {
    format!(
        "/etc/careen/policy.toml line 4, column 1: window.zone is \"{ZONE_WITHOUT_A_FILE}\"; accepted is "
    )
}

async fn restart(rig: &mut Rig) -> Result<()> {
    rig.guest
        .run("systemctl restart careen-agent")
        .await
        .map(drop)
}

/// The Node's opt-out rejects every request. After its removal nothing begins before a new request.
async fn opted_out(rig: &mut Rig, image: &str, before: &Before) -> Result<()> {
    let traces = rig.traces().await?;
    rig.annotate(&[(names::OPT_OUT, Some("stocktaking"))])
        .await?;
    rig.ask_raw(image).await?;
    let view = rig.expect_failed(&["OptedOut"], 5 * MINUTE).await?;
    let reason = view.reason.clone().unwrap_or_default();
    let says = format!("{} says \"stocktaking\"", names::OPT_OUT);
    ensure!(reason.contains(&says), "why is not said: {reason}");
    expect_condition(&view, "False OptedOut")?;
    rig.expect_untouched(before, &traces).await?;

    rig.progress
        .step("no longer opted out; the request is the same");
    rig.annotate(&[(names::OPT_OUT, None)]).await?;
    rig.wait_guest("sleep 15").await?;
    expect_condition(&rig.node.now(), "False OptedOut")?;
    rig.expect_untouched(before, &traces).await
}

/// A request under a broken policy is refused, and the answer says where the error is.
async fn broken_before(rig: &mut Rig, hours: &Hours) -> Result<()> {
    rig.progress
        .step("asking again, under a policy that is broken");
    rig.policy(&policy(hours, ZONE_WITHOUT_A_FILE)).await?;
    rig.expect_a_new_answer();
    rig.annotate(&[(names::UPGRADE_ID, Some("under-a-broken-policy"))])
        .await?;
    let view = rig.expect_failed(&["BadPolicy"], 5 * MINUTE).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(reason.starts_with(&complaint()), "the place: {reason}");
    rig.expect_journal(&[("PHASE", "Refused"), ("REASON", "BadPolicy")])
        .await
}

/// The hours are over by the clock of their zone. By UTC they would be open.
async fn closed(rig: &mut Rig, hours: &Hours) -> Result<()> {
    rig.progress
        .step("asking again, with hours that are over in their zone");
    rig.policy(&policy(hours, ZONE)).await?;
    rig.expect_a_new_answer();
    let soak = SOAK.to_string();
    let asked = [(names::UPGRADE_ID, Some(ID)), (names::SOAK, Some(&*soak))];
    rig.annotate(&asked).await?;
    let view = wait_code(rig, "WindowClosed", 5 * MINUTE).await?;
    expect_condition(&view, "True WindowClosed")?;
    let reason = view.status.and_then(|status| status.reason);
    let says = format!(
        "waiting for the maintenance window: it opens {}.",
        hours.shown()
    );
    let said = reason.as_ref().is_some_and(|text| text.starts_with(&says));
    ensure!(said, "{reason:?}, not {says:?}");
    rig.expect_journal(&[
        ("UPGRADE_ID", ID),
        ("PHASE", "Accepted"),
        ("REASON", "WindowClosed"),
    ])
    .await?;
    watching::expect_waiting(rig, hours, true).await
}

/// An agent that restarts with a broken file uses the last valid policy. With the defaults, or
/// without the zone, it would begin the upgrade.
async fn broken_meanwhile(rig: &mut Rig, hours: &Hours) -> Result<()> {
    rig.progress
        .step("the policy is broken meanwhile, and the agent restarts");
    rig.policy(&policy(hours, ZONE_WITHOUT_A_FILE)).await?;
    restart(rig).await?;
    // Read only the entries of this start, because the agent before it logged the same.
    let read = "journalctl --quiet --unit careen-agent --output cat _SYSTEMD_INVOCATION_ID=$(systemctl show --value -p InvocationID careen-agent)";
    let goes_on = "An upgrade under way continues with the last valid policy";
    rig.wait_guest(&format!(
        "until {read} | grep -F '{}' | grep -qF '{goes_on}'; do sleep 1; done; sleep 15",
        complaint()
    ))
    .await?;
    expect_condition(&rig.node.now(), "True WindowClosed")?;
    watching::expect_waiting(rig, hours, false).await?;
    let deployments = rig.deployments().await?;
    ensure!(deployments == 1, "it was deployed outside of the hours");
    users::expect_notes(rig, &[]).await
}

/// The new system is healthy and soaks for as long as the requester asks, which is longer than the
/// policy's time.
async fn soaked(rig: &mut Rig) -> Result<()> {
    let view = wait_code(rig, "Soaking", UPGRADE).await?;
    let since = Instant::now();
    rig.progress.step("the new system is watched");
    expect_condition(&view, "True Soaking")?;
    ensure!(
        !view.schedulable,
        "the node takes pods before it is blessed"
    );
    let reason = view.status.and_then(|status| status.reason);
    let reason = reason.unwrap_or_default();
    let says = format!("is watched for {SOAK} s before");
    ensure!(reason.contains(&says), "for how long is not said: {reason}");
    watching::expect_on_trial(rig).await?;
    rig.wait_phase("Healthy", UPGRADE).await?;
    let watched = since.elapsed().as_secs();
    ensure!(
        watched + LATE >= SOAK,
        "it was watched for {watched} s, not {SOAK}"
    );
    rig.expect_journal(&[
        ("UPGRADE_ID", ID),
        ("PHASE", "Trial"),
        ("REASON", "Soaking"),
    ])
    .await
}

async fn wait_code(rig: &mut Rig, code: &str, limit: Duration) -> Result<View> {
    let wanted = |view: &View| {
        let status = view.status.as_ref();
        status.and_then(|status| status.code.as_deref()) == Some(code)
    };
    rig.node.wait(&format!("code {code}"), limit, wanted).await
}
