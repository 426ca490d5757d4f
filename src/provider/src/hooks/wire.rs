//! Requests and responses as they travel. Parsed leniently (fields come and go between versions), answered strictly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::patch::Patch;
use super::{API_VERSION, Hook};

/// An object in a request: no status, no owners. What a bootstrap config holds may be secret, so nothing here prints its spec.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Object {
    /// Its kind.
    pub kind: String,
    /// Name, labels, annotations.
    pub metadata: Metadata,
    /// The rest.
    pub spec: Value,
}

/// Metadata of an object in a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The name. Of a MachineSet to be it is new at each try, so nothing is kept by it.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// What stands together in `current` and in `desired`.
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
    /// The bootstrap config; a Machine may have none.
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
    /// How it is.
    pub current: Objects,
    /// How it should be.
    pub desired: Objects,
}

/// A hook's answer. Every form says all that its meaning rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// What we serve.
    Discovery(Value),
    /// Every change is covered, by these patches (key, patch).
    Can(Vec<(&'static str, Patch)>, String),
    /// Not in place: core replaces the Machine. Said only when an operator lets it.
    Replace(String),
    /// Core asks again and touches nothing meanwhile.
    Hold(String),
    /// In progress; core asks again after so many seconds, at least 1.
    InProgress(String, u32),
    /// Verified.
    Done(String),
}

impl Response {
    /// What it means, one of a closed list: for counting. The HTTP status is 200 for all of them.
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

    /// As JSON. `status` is exactly `Success` or `Failure`: any other spelling is an error to core, and an error without a text.
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
            // Zero, a negative number and no number at all mean "done" to core.
            Self::InProgress(_, seconds) => set("retryAfterSeconds", json!(seconds.max(&1))),
            Self::Done(_) => set("retryAfterSeconds", json!(0)),
            Self::Replace(_) | Self::Hold(_) => {}
        }
        Value::Object(body)
    }
}
