//! What we serve, told once to core and read by everyone from ExtensionConfig.status.

use serde_json::{Value, json};

use super::{API_VERSION, Hook};

/// Seconds that core waits for an answer. Ours take milliseconds; the rest is for a machine under load.
const TIMEOUT: u32 = 10;

/// The handlers. `Fail`: with `Ignore` an answer that got lost would be taken for "done", or for "replace".
pub fn handlers() -> Value {
    let handler = |hook: Hook, name: &str| {
        json!({
            "name": name,
            "requestHook": { "apiVersion": API_VERSION, "hook": hook.name() },
            "timeoutSeconds": TIMEOUT,
            "failurePolicy": "Fail",
        })
    };
    json!(
        [
            Hook::CanUpdateMachine,
            Hook::CanUpdateMachineSet,
            Hook::UpdateMachine
        ]
        .map(|hook| handler(hook, hook.handler()))
    )
}
