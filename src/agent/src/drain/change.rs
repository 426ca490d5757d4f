//! One change of our Node that rests on what it tests: what somebody else wrote just then is never taken for ours.

use client::{Node, patch_by};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, TestOperation};
use kube::api::Api;
use serde_json::{Value, json};

use crate::cluster::marks::{MANAGER, Mark};
use crate::cluster::{ApiError, limited};

/// How often a change is made anew that rested on what was true no more. Only whoever writes the very same fields makes it so.
const OVERTAKEN: u32 = 10;

/// The change holds only where this is so.
pub fn test(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Test(TestOperation { path, value })
}

/// Sets what may be there or not.
pub fn add(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation { path, value })
}

/// Takes away what is there.
pub fn remove(path: PointerBuf) -> PatchOperation {
    PatchOperation::Remove(RemoveOperation { path })
}

/// What takes a mark off that marks nothing, of whichever upgrade; empty where there is none.
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

/// Reads, and changes on the condition that what was read still holds: else a person's cordon, set just then, would become ours and
/// be lifted at the end. What others write meanwhile does not matter: the server applies the change to what is there by then.
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
