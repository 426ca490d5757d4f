//! What an observer sees: metrics, Events, the journal, and the Node's condition.

use rig::node::View;
use tokio::time::Instant;

use super::super::prelude::*;
use super::asked::{GRACE, ID, LATE, LOAD_BALANCERS, expect_condition};
use super::events::{events_until, expect_sequence};
use super::hours::Hours;
use super::metrics::metrics;

/// The reasons of the Events in order, and which of them last long enough that they must appear.
const EVENTS: &[(&str, bool)] = &[
    ("OptedOut", true),
    ("BadPolicy", true),
    ("WindowClosed", true),
    ("Accepted", false),
    ("Fetched", false),
    ("Verified", false),
    ("Deployed", true),
    ("Drained", false),
    ("Armed", false),
    ("Trial", false),
    ("Soaking", true),
    ("Healthy", false),
    ("Blessed", true),
    ("Upgraded", true),
];

/// The requests before this one.
const REFUSED: [(&str, f64); 2] = [
    (
        "requests_total{outcome=\"refused\",reason=\"OptedOut\"}",
        1.0,
    ),
    (
        "requests_total{outcome=\"refused\",reason=\"BadPolicy\"}",
        1.0,
    ),
];

/// The metrics of what the upgrade costs the node's users.
const BILL: [&str; 3] = [
    "upgrade_cordoned_seconds",
    "upgrade_drained_seconds",
    "upgrade_not_ready_seconds",
];

/// The error that counting in whole seconds may add to a comparison.
const SECOND: f64 = 2.0;

/// Checks the metrics while the hours are over. They are the same when the file is broken by now
/// and the last valid policy says so.
pub async fn expect_waiting(rig: &mut Rig, hours: &Hours, valid: bool) -> Result<()> {
    let metrics = metrics(rig).await?;
    metrics.expect(&REFUSED)?;
    metrics.expect(&[
        ("policy_valid", f64::from(u8::from(valid))),
        ("window_open", 0.0),
        ("window_changes_timestamp_seconds", hours.opens as f64),
        ("phase{phase=\"Accepted\"}", 1.0),
        ("reason_info{reason=\"WindowClosed\"}", 1.0),
        ("cordoned", 0.0),
        ("deployments", 1.0),
        ("bad_images", 0.0),
    ])
}

/// Checks the metrics while load balancers have their time.
pub async fn expect_in_the_middle(rig: &mut Rig) -> Result<()> {
    wait_condition(rig, "True Deployed").await?;
    metrics(rig).await?.expect(&[
        ("policy_valid", 1.0),
        ("window_open", 1.0),
        ("api_reached", 1.0),
        ("phase{phase=\"Deployed\"}", 1.0),
        ("cordoned", 0.0),
        ("deployments", 2.0),
    ])
}

/// Checks the metrics while the new system soaks.
pub async fn expect_on_trial(rig: &mut Rig) -> Result<()> {
    let metrics = metrics(rig).await?;
    metrics.expect(&[
        ("phase{phase=\"Trial\"}", 1.0),
        ("reason_info{reason=\"Soaking\"}", 1.0),
        ("cordoned", 1.0),
        ("upgrade_trial_boots", 1.0),
        ("deployments", 2.0),
    ])?;
    metrics.expect_between(1.0, UPGRADE.as_secs_f64(), &BILL)
}

/// Waits until the Node's condition says this.
pub async fn wait_condition(rig: &mut Rig, wanted: &str) -> Result<()> {
    let says = |view: &View| view.condition.as_deref() == Some(wanted);
    let what = format!("condition {wanted}");
    rig.node.wait(&what, MINUTE, says).await.map(drop)
}

/// Checks that an observer sees the whole upgrade after its end, and what it cost. `cordoned` is
/// when the cordon was seen.
pub async fn expect_told(rig: &mut Rig, cordoned: Instant) -> Result<()> {
    expect_condition(&rig.node.now(), "False Upgraded")?;
    // The cordon ended before now, and was seen to begin a little late.
    let longest = cordoned.elapsed().as_secs() + LATE;
    expect_sequence(&events_until(rig, "Upgraded").await?, EVENTS)?;
    for fields in [("STEP", "Drain"), ("PHASE", "Upgraded")] {
        rig.expect_journal(&[("UPGRADE_ID", ID), fields]).await?;
    }
    expect_bill(rig, longest as f64).await
}

async fn expect_bill(rig: &mut Rig, longest: f64) -> Result<()> {
    let metrics = metrics(rig).await?;
    metrics.expect(&REFUSED)?;
    metrics.expect(&[
        ("phase{phase=\"Upgraded\"}", 1.0),
        ("cordoned", 0.0),
        ("upgrade_trial_boots", 1.0),
        ("trial_boots_total", 1.0),
        ("requests_total{outcome=\"upgraded\",reason=\"\"}", 1.0),
        ("deployments", 2.0),
        ("bad_images", 0.0),
    ])?;
    metrics.expect_between(1.0, longest, &BILL)?;
    let [cordoned, drained, not_ready] = [
        metrics.value(BILL[0])?,
        metrics.value(BILL[1])?,
        metrics.value(BILL[2])?,
    ];
    // The node is away for a part of the time without pods. It still has pods for as long as the
    // slow one takes.
    ensure!(
        cordoned + SECOND >= drained + GRACE as f64 && drained + SECOND >= not_ready,
        "cordoned {cordoned} s, drained {drained} s, not Ready {not_ready} s"
    );
    let deployed = "upgrade_phase_duration_seconds{phase=\"Deployed\"}";
    let least = (LOAD_BALANCERS + GRACE) as f64 - SECOND;
    metrics.expect_between(least, f64::MAX, &[deployed])?;
    // The scenario itself waited longer than this with the broken file.
    metrics.expect_between(10.0, f64::MAX, &["upgrade_waiting_seconds"])?;
    let free = ["free_bytes{place=\"root\"}", "free_bytes{place=\"boot\"}"];
    metrics.expect_between(1e6, 1e12, &free)
}
