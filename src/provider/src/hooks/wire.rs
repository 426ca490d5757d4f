//! Requests and responses in wire format. The provider parses leniently, because fields come and go
//! between versions, and answers strictly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::hook::{API_VERSION, Hook};
use super::patch::Patch;

/// An object in a request, without status and owners. A bootstrap config may contain secrets, so
/// this module never prints a spec.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Object {
    /// Its kind.
    pub kind: String,
    /// Name, labels, annotations.
    pub metadata: Metadata,
    /// The spec.
    pub spec: Value,
}

/// Metadata of an object in a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The name. A future MachineSet has a new name at each try, so nothing is stored under it.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The content of `current` and of `desired`.
#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Objects {
    /// The Machine.
    pub machine: Option<Object>,
    /// The MachineSet.
    pub machine_set: Option<Object>,
    /// The InfraMachine.
    pub infrastructure_machine: Option<Object>,
    /// Its template.
    pub infrastructure_machine_template: Option<Object>,
    /// The bootstrap config. A Machine may have none.
    pub bootstrap_config: Option<Object>,
    /// Its template.
    pub bootstrap_config_template: Option<Object>,
}

/// A hook's request.
#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Request {
    /// The version of the contract.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The ExtensionConfig's settings.
    pub settings: BTreeMap<String, String>,
    /// The current state.
    pub current: Objects,
    /// The desired state.
    pub desired: Objects,
}

/// A hook's answer. Each variant carries everything that its meaning depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The hooks that the provider serves.
    Discovery(Value),
    /// Every change is covered by these patches (key, patch).
    Can(Vec<(&'static str, Patch)>, String),
    /// Not possible in place: core replaces the Machine. The provider returns this only if an
    /// operator allows it.
    Replace(String),
    /// Core asks again and changes nothing meanwhile.
    Hold(String),
    /// In progress. Core asks again after this many seconds, at least 1.
    InProgress(String, u32),
    /// Verified.
    Done(String),
}

impl Response {
    /// The meaning, from a closed list, used as a metric label. The HTTP status is 200 for all of
    /// them.
    #[must_use]
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Discovery(_) => "Discovered",
            Self::Can(..) => "InPlace",
            Self::Replace(_) => "Replace",
            Self::Hold(_) => "Hold",
            Self::InProgress(..) => "InProgress",
            Self::Done(_) => "Done",
        }
    }

    /// The JSON form. `status` is exactly `Success` or `Failure`: core treats any other spelling as
    /// an error without a text.
    #[must_use]
    pub fn body(&self, hook: Hook) -> Value {
        let mut body = Map::new();
        let mut set = |key: &str, value: Value| {
            body.insert(key.to_owned(), value);
        };
        set("apiVersion", json!(API_VERSION));
        set("kind", json!(format!("{}Response", hook.name())));
        let (status, message) = match self {
            Self::Hold(message) => ("Failure", message.as_str()),
            Self::Can(_, message)
            | Self::Replace(message)
            | Self::InProgress(message, _)
            | Self::Done(message) => ("Success", message.as_str()),
            Self::Discovery(_) => ("Success", ""),
        };
        set("status", json!(status));
        set("message", json!(message));
        match self {
            Self::Discovery(handlers) => set("handlers", handlers.clone()),
            Self::Can(patches, _) => patches
                .iter()
                .for_each(|(key, patch)| set(key, patch.to_json())),
            // Core reads zero, a negative number or a missing number as "done".
            Self::InProgress(_, seconds) => set("retryAfterSeconds", json!(seconds.max(&1))),
            Self::Done(_) => set("retryAfterSeconds", json!(0)),
            Self::Replace(_) | Self::Hold(_) => {}
        }
        Value::Object(body)
    }
}
