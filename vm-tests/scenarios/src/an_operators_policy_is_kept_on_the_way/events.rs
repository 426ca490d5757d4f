//! The Events about the Node.

use anyhow::Context;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use rig::node::NAME;
use rig::patience::within;

use super::super::prelude::*;

/// The component that reports the agent's Events.
const CONTROLLER: &str = "careen.dev/agent";

/// The agent publishes an Event after the Node's status, and independently of it.
const PUBLISHED: Duration = Duration::from_secs(120);

/// Waits for an Event with this reason. Returns the reasons of the agent's Events about this Node
/// in the order of their times. It drops a repeated reason, because an agent that restarts may
/// report the same again.
///
/// # Errors
///
/// Fails when it does not come in time.
pub async fn events_until(rig: &Rig, last: &str) -> Result<Vec<String>> {
    let api: Api<Event> = Api::namespaced(rig.plane.client().await?, "default");
    let listed = async {
        loop {
            let reasons = reasons_of(api.list(&ListParams::default()).await?.items);
            if reasons.iter().any(|reason| reason == last) {
                return anyhow::Ok(reasons);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let found = within(PUBLISHED, listed).await;
    found.with_context(|| format!("no Event {last:?} within {PUBLISHED:?}"))?
}

fn reasons_of(mut events: Vec<Event>) -> Vec<String> {
    events.retain(is_ours);
    events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
    let reasons = events.into_iter().filter_map(|event| event.reason);
    let mut reasons: Vec<_> = reasons.collect();
    reasons.dedup();
    reasons
}

fn is_ours(event: &Event) -> bool {
    let regarding = event.regarding.as_ref();
    let is_about_the_node = regarding.is_some_and(|regarding| {
        regarding.kind.as_deref() == Some("Node") && regarding.name.as_deref() == Some(NAME)
    });
    is_about_the_node && event.reporting_controller.as_deref() == Some(CONTROLLER)
}

/// Checks that these reasons came in this order, by the first of each, and no others. A short-lived
/// reason (`false`) may be missing, because phases that follow immediately share a report.
///
/// # Errors
///
/// Fails when the sequence is different.
pub fn expect_sequence(found: &[String], expected: &[(&str, bool)]) -> Result<()> {
    let mut first = Vec::new();
    for reason in found.iter().map(String::as_str) {
        if !first.contains(&reason) {
            first.push(reason);
        }
    }
    let wanted = expected
        .iter()
        .filter(|(reason, lasts)| *lasts || first.contains(reason));
    let wanted: Vec<_> = wanted.map(|(reason, _)| *reason).collect();
    ensure!(
        first == wanted,
        "the reasons came as {found:?}; wanted is {wanted:?}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn event(second: u8, reason: &str, change: &Value) -> Event {
        let mut event = json!({
            "metadata": {},
            "eventTime": format!("2026-01-01T00:00:0{second}.000000Z"),
            "reason": reason,
            "regarding": {"kind": "Node", "name": NAME},
            "reportingController": CONTROLLER,
        });
        for (key, value) in change.as_object().unwrap() {
            event[key] = value.clone();
        }
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn agent_events_of_the_node_are_taken_in_order_of_time() {
        let ours = |second, reason| event(second, reason, &json!({}));
        let events = vec![
            ours(3, "Fetched"),
            ours(1, "Accepted"),
            ours(2, "Accepted"),
            event(4, "Rebooted", &json!({"reportingController": "kubelet"})),
            event(
                5,
                "Upgraded",
                &json!({"regarding": {"kind": "Node", "name": "other"}}),
            ),
        ];
        assert_eq!(reasons_of(events), ["Accepted", "Fetched"]);
    }

    #[test]
    fn what_lasts_must_have_come_and_nothing_out_of_turn() {
        let expected = [("Accepted", true), ("Fetched", false), ("Upgraded", true)];
        let came = |reasons: &[&str]| {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            expect_sequence(&reasons, &expected)
        };
        came(&["Accepted", "Fetched", "Upgraded"]).unwrap();
        came(&["Accepted", "Fetched", "Accepted", "Upgraded"]).unwrap();
        came(&["Accepted", "Upgraded"]).unwrap();
        assert!(came(&["Accepted", "Fetched"]).is_err());
        assert!(came(&["Fetched", "Accepted", "Upgraded"]).is_err());
        assert!(came(&["Accepted", "ApiAway", "Upgraded"]).is_err());
    }
}
