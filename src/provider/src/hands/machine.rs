//! The mark on a Machine, and the annotation that keeps health checks off it.

use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::{HandError, limited};
use crate::api;
use crate::engine::{Machine, MarkWrite};
use crate::names;

/// Writes or removes the mark. Returns the Machine after it.
///
/// # Errors
/// See [`HandError`].
pub async fn mark(
    client: Client,
    machine: &Machine,
    what: &MarkWrite,
) -> Result<api::Machine, HandError> {
    let was_ours = machine.mark.as_ref().is_some_and(|mark| mark.skip_is_ours);
    let (text, is_ours) = match what {
        MarkWrite::On(mark) => (
            json!(serde_json::to_string(mark).unwrap_or_default()),
            mark.skip_is_ours,
        ),
        MarkWrite::Off => (Value::Null, false),
    };
    let mut annotations = json!({ names::MARK: text });
    // Beside one that somebody else wrote, nothing is added, and it is not taken away.
    match (was_ours, is_ours) {
        (_, true) => annotations[names::SKIP_REMEDIATION] = json!(""),
        (true, false) => annotations[names::SKIP_REMEDIATION] = Value::Null,
        (false, false) => {}
    }
    annotate(client, machine, annotations).await
}

/// Takes the annotation off that asked for the upgrade: it is done.
///
/// # Errors
/// See [`HandError`].
pub async fn unask(client: Client, machine: &Machine) -> Result<api::Machine, HandError> {
    annotate(client, machine, json!({ names::ASK: null })).await
}

/// Onto the Machine as it was when this was decided: the API server refuses when it is another one by now, or when somebody has
/// written it since. An annotation against remediation that came meanwhile would pass for ours.
async fn annotate(
    client: Client,
    machine: &Machine,
    annotations: Value,
) -> Result<api::Machine, HandError> {
    let body = json!({
        "metadata": {
            "uid": machine.uid,
            "resourceVersion": machine.resource_version,
            "annotations": annotations,
        },
    });
    let params = PatchParams {
        field_manager: Some(names::MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let machines: Api<api::Machine> =
        Api::namespaced_with(client, &machine.namespace, &api::core("Machine"));
    limited(machines.patch(&machine.name, &params, &Patch::Merge(body))).await
}
