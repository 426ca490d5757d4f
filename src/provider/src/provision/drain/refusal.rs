//! Why the API server did not let a pod go.

use infrastructure::{Budget, PodToGo};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Client;
use kube::api::Api;
use kube::core::Status;

use crate::engine::clean;
use crate::writes::provision as write;

/// The type of the cause when a disruption budget, and not the server's own load, returns 429.
const BUDGET: &str = "DisruptionBudget";

/// A pod that may not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What holds it, by name.
    pub(super) text: String,
    /// Waiting does not help.
    pub(super) for_ever: bool,
}

/// Reads a refusal. A pod that is gone, or is another one now, is in the next list or is not.
pub(super) async fn read(client: &Client, pod: &PodToGo, status: &Status) -> Option<Refusal> {
    let (said, budget) = said(pod, status)?;
    let Some(budget) = budget else {
        return Some(refusal(&said, false));
    };
    let (space, name) = (&pod.space, &pod.name);
    if !never_allows(client, space, budget).await {
        return Some(refusal(&said, false));
    }
    let never = format!(
        "PodDisruptionBudget {space}/{budget} never lets pod {space}/{name} go: all its pods are healthy, and it allows no disruption"
    );
    Some(refusal(&never, true))
}

fn refusal(text: &str, for_ever: bool) -> Refusal {
    let text = clean(text);
    Refusal { text, for_ever }
}

/// What the server says, and the budget that it names.
fn said<'a>(pod: &PodToGo, status: &'a Status) -> Option<(String, Option<&'a str>)> {
    if matches!(status.code, 404 | 409) {
        return None;
    }
    let (space, name) = (&pod.space, &pod.name);
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    let Some(budget) = causes.find(|cause| cause.reason == BUDGET) else {
        let (message, code) = (&status.message, status.code);
        return Some((format!("pod {space}/{name}: {message} ({code})"), None));
    };
    let message = &budget.message;
    let text = format!("a PodDisruptionBudget holds pod {space}/{name}: {message}");
    Some((text, named(message)))
}

/// The name is only in the text (kubernetes pkg/registry/core/pod/storage/eviction.go,
/// `checkAndDecrement`).
fn named(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("The disruption budget ")?;
    rest.split_whitespace().next()
}

/// A budget that cannot be read is not judged.
async fn never_allows(client: &Client, space: &str, name: &str) -> bool {
    let api: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), space);
    let found = write::read(&api, name).await.ok().flatten();
    found.is_some_and(|found| facts(&found).never_allows())
}

fn facts(found: &PodDisruptionBudget) -> Budget {
    let Some(status) = &found.status else {
        return Budget::default();
    };
    let disrupted = status.disrupted_pods.as_ref();
    Budget {
        current: status.observed_generation == found.metadata.generation,
        expected: status.expected_pods,
        healthy: status.current_healthy,
        allowed: status.disruptions_allowed,
        disrupted: disrupted.is_some_and(|pods| !pods.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(code: u16, causes: &Value) -> Option<(String, Option<String>)> {
        let status = json!({ "code": code, "message": "no", "details": { "causes": causes } });
        let pod = PodToGo {
            space: "shop".to_owned(),
            name: "web".to_owned(),
            ..PodToGo::default()
        };
        let status: Status = serde_json::from_value(status).unwrap();
        said(&pod, &status).map(|(text, budget)| (text, budget.map(str::to_owned)))
    }

    #[test]
    fn held_pod_is_named_with_its_budget_or_the_servers_words() {
        let by = |message: &str| json!([{ "reason": BUDGET, "message": message }]);
        let held = "a PodDisruptionBudget holds pod shop/web";
        assert_eq!(
            refused(429, &by("The disruption budget one needs 1")),
            Some((
                format!("{held}: The disruption budget one needs 1"),
                Some("one".to_owned())
            ))
        );
        let other = refused(429, &by("budget one is spent"));
        assert_eq!(other, Some((format!("{held}: budget one is spent"), None)));
        let forbidden = refused(403, &json!([]));
        assert_eq!(forbidden, Some(("pod shop/web: no (403)".to_owned(), None)));
        assert_eq!(refused(404, &json!([])), None);
        assert_eq!(refused(409, &json!([])), None);
    }

    #[test]
    fn budget_is_judged_by_its_status() {
        let budget = |generation: i64, disrupted: Value| -> PodDisruptionBudget {
            serde_json::from_value(json!({
                "metadata": { "name": "web", "generation": generation },
                "status": {
                    "observedGeneration": 2, "expectedPods": 1, "currentHealthy": 1,
                    "desiredHealthy": 1, "disruptionsAllowed": 0, "disruptedPods": disrupted,
                },
            }))
            .unwrap()
        };
        assert!(facts(&budget(2, json!({}))).never_allows());
        assert!(!facts(&budget(3, json!({}))).never_allows());
        let leaves = json!({ "web-0": "2026-01-01T00:00:00Z" });
        assert!(!facts(&budget(2, leaves)).never_allows());
        let unseen = PodDisruptionBudget::default();
        assert!(!facts(&unseen).never_allows());
    }
}
