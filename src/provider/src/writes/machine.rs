//! The mark on a Machine, and the skip-remediation annotation that keeps health checks off it.

use client::patch_by;
use kube::Client;
use kube::api::{Api, Patch};
use requests::onto;
use serde_json::{Value, json};

use super::error::{WriteError, limited};
use crate::api;
use crate::engine::{Machine, MarkWrite};
use crate::names;

/// Writes or removes the mark. Returns the Machine after the write.
///
/// # Errors
/// See [`WriteError`].
pub async fn mark(
    client: Client,
    machine: &Machine,
    what: &MarkWrite,
) -> Result<api::Machine, WriteError> {
    annotate(client, machine, annotations(machine, what)).await
}

/// The mark, and the skip-remediation annotation if the provider owns or owned it. An annotation
/// from another writer stays as it is.
fn annotations(machine: &Machine, what: &MarkWrite) -> Value {
    let was_ours = machine.mark.as_ref().is_some_and(|mark| mark.skip_is_ours);
    let (text, is_ours) = match what {
        MarkWrite::On(mark) => (
            json!(serde_json::to_string(mark).unwrap_or_default()),
            mark.skip_is_ours,
        ),
        MarkWrite::Off => (Value::Null, false),
    };
    match (was_ours, is_ours) {
        (_, true) => json!({ names::MARK: text, names::SKIP_REMEDIATION: "" }),
        (true, false) => json!({ names::MARK: text, names::SKIP_REMEDIATION: null }),
        (false, false) => json!({ names::MARK: text }),
    }
}

/// Removes the annotation that requested the upgrade, because the upgrade is done.
///
/// # Errors
/// See [`WriteError`].
pub async fn unask(client: Client, machine: &Machine) -> Result<api::Machine, WriteError> {
    let none = json!({ names::ASK: null, names::POOL_VERSION: null });
    annotate(client, machine, none).await
}

/// Writes to the Machine in the state of the decision. The API server rejects the write if it is
/// now another Machine or if it was changed since. Otherwise a skip-remediation annotation that was
/// added meanwhile would count as the provider's.
async fn annotate(
    client: Client,
    machine: &Machine,
    annotations: Value,
) -> Result<api::Machine, WriteError> {
    let body = onto(&machine.uid, &machine.resource_version, annotations);
    let params = patch_by(names::MANAGER);
    let machines: Api<api::Machine> =
        Api::namespaced_with(client, &machine.namespace, &api::core("Machine"));
    limited(machines.patch(&machine.name, &params, &Patch::Merge(body))).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Mark;

    fn marked(skip_is_ours: Option<bool>) -> Machine {
        Machine {
            mark: skip_is_ours.map(mark),
            ..Machine::default()
        }
    }

    fn mark(skip_is_ours: bool) -> Mark {
        Mark {
            skip_is_ours,
            ..Mark::default()
        }
    }

    /// The value that is written for the skip-remediation annotation.
    fn skip(before: Option<bool>, what: &MarkWrite) -> Option<Value> {
        let written = annotations(&marked(before), what);
        written.get(names::SKIP_REMEDIATION).cloned()
    }

    #[test]
    fn skip_remediation_annotation_is_changed_only_when_ours() {
        let on = |ours| MarkWrite::On(mark(ours));
        assert_eq!(skip(None, &on(true)), Some(json!("")));
        assert_eq!(skip(None, &on(false)), None, "somebody else's is there");
        assert_eq!(skip(Some(true), &on(false)), Some(Value::Null), "let go");
        assert_eq!(skip(Some(true), &MarkWrite::Off), Some(Value::Null));
        assert_eq!(skip(Some(false), &MarkWrite::Off), None);
    }
}
