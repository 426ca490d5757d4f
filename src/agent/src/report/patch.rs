//! A report as one PATCH of nodes/status: annotations and condition together, so that no client
//! reads half of it.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use upgrade::reason::cut;
use upgrade::report::{Answer, IDLE, Report, UNGUARDED};
use upgrade::{history, names};

use super::lifecycle;
use crate::cluster::seen::{ANSWERS, NodeSeen};

/// The body of a strategic merge patch.
#[must_use]
pub fn body(report: &Report, node: &NodeSeen, now: Timestamp) -> Value {
    let mut conditions = lifecycle::changes(report.lifecycle, node, &second(now));
    conditions.insert(0, condition(report, node, now));
    json!({
        "metadata": { "annotations": annotations(report) },
        "status": { "conditions": conditions },
    })
}

/// Whether the Node already says this. After a restart the agent writes nothing twice.
#[must_use]
pub fn is_there(report: &Report, node: &NodeSeen) -> bool {
    let wanted = annotations(report);
    let same = |key: &&str| match wanted.get(*key) {
        Some(value) => value.as_str() == node.answers.get(*key).map(String::as_str),
        None => true,
    };
    let condition = node
        .condition
        .as_ref()
        .is_some_and(|there| there.status == status_of(report) && there.reason == code(report));
    condition && lifecycle::are_there(report.lifecycle, node) && ANSWERS.iter().all(same)
}

fn annotations(report: &Report) -> Value {
    let failure = match report.answer {
        Some(Answer::Failed) => report.reason.as_ref().map(upgrade::Reason::told),
        Some(Answer::InProgress | Answer::Upgraded) | None => None,
    };
    let mut annotations = json!({
        names::ANSWER: report.answer.map(Answer::as_str),
        names::FAILURE_REASON: failure,
        names::STATUS: serde_json::to_string(&report.status).unwrap_or_default(),
    });
    // A record that cannot be read removes nothing from the Node.
    if let Some(past) = &report.past {
        annotations[names::HISTORY] = json!(history::json(past));
    }
    annotations
}

fn condition(report: &Report, node: &NodeSeen, now: Timestamp) -> Value {
    let status = status_of(report);
    let unchanged = node.condition.as_ref().filter(|was| was.status == status);
    let since = unchanged
        .and_then(|was| was.last_transition_time.clone())
        .unwrap_or_else(|| second(now));
    json!({
        "type": names::CONDITION,
        "status": status,
        "reason": code(report),
        "message": told(report),
        "lastHeartbeatTime": second(now),
        "lastTransitionTime": since,
    })
}

/// metav1.Time has no fractions of a second.
fn second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second())
        .unwrap_or(time)
        .to_string()
}

const fn status_of(report: &Report) -> &'static str {
    match report.answer {
        Some(Answer::InProgress) => "True",
        Some(Answer::Upgraded | Answer::Failed) | None => "False",
    }
}

/// The stable word for the condition and the Event: the reason's code, or the phase if there is no
/// reason.
#[must_use]
pub fn code(report: &Report) -> String {
    report
        .now()
        .map_or_else(|| report.status.phase.clone(), upgrade::Reason::code)
}

/// The message of the condition.
fn told(report: &Report) -> String {
    let said = message(report);
    match report.unknown() {
        None => said,
        Some(unknown) if is_silent(report) => cut(&unknown),
        Some(unknown) => cut(&format!("{said}; {unknown}")),
    }
}

/// Whether it says only that no upgrade was ever requested.
#[must_use]
pub fn is_silent(report: &Report) -> bool {
    report.status.phase == IDLE && report.now().is_none()
}

/// The sentence for the condition and the Event. In the condition, the unknown keys follow it.
#[must_use]
pub fn message(report: &Report) -> String {
    match (report.now(), &report.status.doing) {
        (Some(reason), _) => reason.told(),
        (None, Some(doing)) => doing.clone(),
        (None, None) if report.status.unguarded => UNGUARDED.to_owned(),
        (None, None) => report
            .differs()
            .unwrap_or_else(|| report.status.phase.clone()),
    }
}
