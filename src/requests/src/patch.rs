//! Writes that are valid only for the object that a decision was based on.

use serde::Serialize;
use serde_json::{Value, json};

/// A JSON merge patch of annotations for the object with this UID, as it was read at this resource
/// version. The API server rejects the patch if the object changed since; the requester then
/// decides again. So two requesters never overwrite each other.
#[must_use]
pub fn onto(uid: &str, resource_version: &str, annotations: impl Serialize) -> Value {
    json!({
        "metadata": {
            "uid": uid,
            "resourceVersion": resource_version,
            "annotations": annotations,
        },
    })
}
