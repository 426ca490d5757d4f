//! The patch that turns `current` into `desired`, in either format that core accepts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// The format of a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902: replaces the whole spec, so nothing is left over.
    #[default]
    Json,
    /// RFC 7386: a diff with `null` for removed fields. Without the nulls core finds a remaining
    /// difference, concludes "cannot" and replaces the Machine.
    Merge,
}

/// A patch of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Its format.
    pub kind: PatchType,
    /// Its content.
    pub content: Value,
}

impl Patch {
    /// The wire format: Go's `[]byte` is base64 in JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let kind = match self.kind {
            PatchType::Json => "JSONPatch",
            PatchType::Merge => "JSONMergePatch",
        };
        json!({ "patchType": kind, "patch": STANDARD.encode(self.content.to_string()) })
    }
}

/// The patch for one object's spec, or nothing if there is no change. (Core copies back only
/// `spec`.)
#[must_use]
pub fn patch(kind: PatchType, current: &Value, desired: &Value) -> Option<Patch> {
    if current == desired {
        return None;
    }
    let content = match kind {
        PatchType::Json => {
            let op = if current.is_null() { "add" } else { "replace" };
            json!([{ "op": op, "path": "/spec", "value": desired }])
        }
        PatchType::Merge => json!({ "spec": merge(current, desired) }),
    };
    Some(Patch { kind, content })
}

fn merge(current: &Value, desired: &Value) -> Value {
    let (Value::Object(a), Value::Object(b)) = (current, desired) else {
        return desired.clone();
    };
    let gone = a.keys().filter(|key| !b.contains_key(*key));
    let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in b {
        match a.get(key) {
            Some(old) if old == value => {}
            Some(old) => {
                patch.insert(key.clone(), merge(old, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}
