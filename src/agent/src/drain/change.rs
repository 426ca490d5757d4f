//! One change of the Node that depends on its own tests, so that the agent never takes another
//! client's concurrent write for its own.

use client::{Node, patch_by};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, TestOperation};
use kube::api::Api;
use serde_json::{Value, json};

use crate::cluster::marks::{MANAGER, Mark};
use crate::cluster::{ApiError, limited};

/// How often the agent retries a change whose tests no longer hold. Only a client that writes the
/// same fields causes that.
const OVERTAKEN: u32 = 10;

/// The change applies only if this holds.
pub fn test(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Test(TestOperation { path, value })
}

/// Sets a field that may or may not exist.
pub fn add(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation { path, value })
}

/// Removes a field that exists.
pub fn remove(path: PointerBuf) -> PatchOperation {
    PatchOperation::Remove(RemoveOperation { path })
}

/// Removes a mark that marks nothing, of any upgrade. Empty if there is no such mark.
pub fn unmarked(mark: &Mark, node: &Node) -> Vec<PatchOperation> {
    let Some(value) = mark.of(node).filter(|_| mark.is_left(node)) else {
        return Vec::new();
    };
    let at = PointerBuf::from_tokens(["metadata", "annotations", mark.key]);
    let alone = (!mark.is_set(node)).then(|| {
        test(
            PointerBuf::from_tokens(mark.field.iter().copied()),
            Value::Null,
        )
    });
    let take_off = [test(at.clone(), json!(value)), remove(at)];
    alone.into_iter().chain(take_off).collect()
}

/// Reads the Node, and changes it on the condition that what was read still holds. Otherwise a
/// person's cordon, set at that moment, would become Careen's and be removed at the end. Other
/// concurrent writes do not matter: the server applies the change to the Node's current state.
pub async fn change(
    nodes: &Api<Node>,
    name: &str,
    wanted: impl Fn(&Node) -> Option<Patch>,
) -> Result<(), ApiError> {
    let mut last = ApiError::Conflict;
    let params = patch_by(MANAGER);
    for _ in 0..OVERTAKEN {
        let node = limited(nodes.get(name)).await?;
        let Some(patch) = wanted(&node) else {
            return Ok(());
        };
        let patch = kube::api::Patch::Json::<()>(patch);
        match limited(nodes.patch(name, &params, &patch)).await {
            Err(error @ (ApiError::Conflict | ApiError::Unfit(_))) => last = error,
            Err(other) => return Err(other),
            Ok(_) => return Ok(()),
        }
    }
    Err(last)
}
