//! The handlers that the provider serves. Core asks once, and publishes the answer in
//! ExtensionConfig.status.

use serde_json::{Value, json};

use super::hook::{API_VERSION, Hook};

/// Seconds that core waits for an answer. The provider needs milliseconds; the rest allows for a
/// machine under load.
const TIMEOUT: u32 = 10;

/// The handlers. The failure policy is `Fail`: with `Ignore`, core would take a lost answer for
/// "done" or for "replace".
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
