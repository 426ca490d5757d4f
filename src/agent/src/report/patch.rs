//! A report as one PATCH of nodes/status: annotations and condition together, so that no reader sees half of it.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use upgrade::names;
use upgrade::report::{Answer, Report};

use crate::cluster::seen::NodeSeen;

/// The body of a strategic merge patch.
#[must_use]
pub fn body(report: &Report, node: &NodeSeen, now: Timestamp) -> Value {
    json!({
        "metadata": { "annotations": annotations(report) },
        "status": { "conditions": [condition(report, node, now)] },
    })
}

/// Whether the Node says this already: after a restart of the agent nothing is written twice.
#[must_use]
pub fn is_there(report: &Report, node: &NodeSeen) -> bool {
    let wanted = annotations(report);
    let same = |key: &str| wanted[key].as_str() == node.answers.get(key).map(String::as_str);
    let condition = node
        .condition
        .as_ref()
        .is_some_and(|(status, _)| status == status_of(report));
    condition
        && [names::ANSWER, names::FAILURE_REASON, names::STATUS]
            .iter()
            .all(|key| same(key))
}

fn annotations(report: &Report) -> Value {
    let failure = match report.answer {
        Answer::Failed => report.reason.as_ref().map(ToString::to_string),
        Answer::InProgress | Answer::Upgraded => None,
    };
    json!({
        names::ANSWER: report.answer.as_str(),
        names::FAILURE_REASON: failure,
        names::STATUS: serde_json::to_string(&report.status).unwrap_or_default(),
    })
}

fn condition(report: &Report, node: &NodeSeen, now: Timestamp) -> Value {
    let status = status_of(report);
    let unchanged = node.condition.as_ref().filter(|(was, _)| was == status);
    let since = unchanged
        .and_then(|(_, since)| since.clone())
        .unwrap_or_else(|| second(now));
    json!({
        "type": names::CONDITION,
        "status": status,
        "reason": code(report),
        "message": message(report),
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
        Answer::InProgress => "True",
        Answer::Upgraded | Answer::Failed => "False",
    }
}

/// The stable word for the condition and the Event: the reason's code, else the phase.
#[must_use]
pub fn code(report: &Report) -> String {
    report
        .reason
        .as_ref()
        .map_or_else(|| report.status.phase.clone(), upgrade::Reason::code)
}

/// The sentence for the condition and the Event.
#[must_use]
pub fn message(report: &Report) -> String {
    match (&report.reason, &report.status.doing) {
        (Some(reason), _) => reason.to_string(),
        (None, Some(doing)) => doing.clone(),
        (None, None) => report.status.phase.clone(),
    }
}
