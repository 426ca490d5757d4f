//! Which budget refused an eviction. The kubelet's credential may not read budgets, so only the
//! refusal itself can tell.

use kube::core::Status;

use crate::cluster::error::cause;

/// The type of the cause when a disruption budget, and not the server's own load, returns 429.
const CAUSE: &str = "DisruptionBudget";

/// Whether a budget refused, and its name if the server gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A disruption budget, by name or by the server's own message.
    Budget(String),
    /// The server is busy.
    Busy,
}

/// Reads a 429.
#[must_use]
pub fn refusal(status: &Status) -> Refusal {
    cause(status, CAUSE).map_or(Refusal::Busy, |cause| {
        let name = name(&cause.message).unwrap_or(&cause.message);
        Refusal::Budget(name.to_owned())
    })
}

/// The name is only in the text (kubernetes pkg/registry/core/pod/storage/eviction.go,
/// `checkAndDecrement`). It is shown to a person and decides nothing. So if the text changes, only
/// the bare name is lost, not the upgrade.
fn name(message: &str) -> Option<&str> {
    message
        .strip_prefix("The disruption budget ")?
        .split_whitespace()
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(reason: &str, message: &str) -> Status {
        let causes = json!([{ "reason": reason, "message": message }]);
        serde_json::from_value(json!({ "code": 429, "details": { "causes": causes } })).unwrap()
    }

    #[test]
    fn the_budget_is_named_from_the_servers_words() {
        let text = "The disruption budget web needs 2 healthy pods and has 2 currently";
        assert_eq!(
            refusal(&status(CAUSE, text)),
            Refusal::Budget("web".to_owned())
        );
    }

    #[test]
    fn words_that_changed_are_passed_on_whole() {
        let text = "budget web is spent";
        assert_eq!(
            refusal(&status(CAUSE, text)),
            Refusal::Budget(text.to_owned())
        );
    }

    #[test]
    fn a_busy_server_is_not_a_budget() {
        assert_eq!(refusal(&status("Other", "slow down")), Refusal::Busy);
    }
}
