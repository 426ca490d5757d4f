//! One change of the Node that depends on its own tests, so that the agent never takes another
//! client's concurrent write for its own.

use client::{Node, patch_by};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, TestOperation};
use kube::api::Api;
use serde_json::{Value, json};
use upgrade::UpgradeId;

use crate::cluster::marks::{MANAGER, Mark};
use crate::cluster::{ApiError, admitted, limited};

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

/// The path of a mark's field.
pub fn field_at(mark: &Mark) -> PointerBuf {
    PointerBuf::from_tokens(mark.field.iter().copied())
}

/// The path of a mark. A Node with a requested upgrade has annotations.
pub fn mark_at(mark: &Mark) -> PointerBuf {
    PointerBuf::from_tokens(["metadata", "annotations", mark.key])
}

/// The change that sets a field with this upgrade's mark, or `None` if any client has set it
/// already.
pub fn set_with_mark(mark: &Mark, node: &Node, id: &UpgradeId, value: Value) -> Option<Patch> {
    let change = || {
        // An API server takes null for an absent field (evanphx/json-patch, Patch.test), and a
        // Node's false is absent.
        Patch(vec![
            test(field_at(mark), Value::Null),
            add(mark_at(mark), json!(id.as_str())),
            add(field_at(mark), value),
        ])
    };
    (!mark.is_set(node)).then(change)
}

/// The change that removes this upgrade's mark and takes its field back. It removes only the mark
/// if that marks nothing of Careen's, and is `None` if the mark is not this upgrade's.
pub fn take_back(mark: &Mark, node: &Node, id: &UpgradeId, back: PatchOperation) -> Option<Patch> {
    let text = mark.of(node).filter(|text| *text == id.as_str())?;
    let left = unmarked(mark, node);
    if !left.is_empty() {
        return Some(Patch(left));
    }
    let at = mark_at(mark);
    Some(Patch(vec![test(at.clone(), json!(text)), remove(at), back]))
}

/// Removes a mark that marks nothing, of any upgrade. Empty if there is no such mark.
pub fn unmarked(mark: &Mark, node: &Node) -> Vec<PatchOperation> {
    let Some(value) = mark.of(node).filter(|_| mark.is_left(node)) else {
        return Vec::new();
    };
    let at = mark_at(mark);
    // An API server takes null for an absent field.
    let found = mark.value(node).map_or(Value::Null, |found| json!(found));
    let alone = (!mark.is_set(node)).then(|| test(field_at(mark), found));
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
        match admitted(nodes.patch(name, &params, &patch)).await {
            Err(error @ (ApiError::Conflict | ApiError::Unfit(_))) => last = error,
            Err(other) => return Err(other),
            Ok(_) => return Ok(()),
        }
    }
    Err(last)
}

/// Makes one write for all of these marks. If the server refuses that, each mark has a write of its
/// own: one key that an admission policy keeps to others does not hold up the rest.
///
/// # Errors
/// The server is unreachable, or the last refusal.
pub async fn apart<F>(marks: &[Mark], write: impl Fn(Vec<Mark>) -> F) -> Result<(), ApiError>
where
    F: Future<Output = Result<(), ApiError>>,
{
    let all = write(marks.to_vec()).await;
    let Err(ApiError::Refused(_) | ApiError::Unfit(_)) = all else {
        return all;
    };
    let mut last = Ok(());
    for mark in marks {
        let alone = write(vec![*mark]).await;
        if let Err(error) = alone {
            tracing::warn!("the API server does not change {}: {error}", mark.name());
            last = Err(error);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::marks::{DISRUPTION, SHIELDS};
    use std::cell::RefCell;
    use std::future::ready;

    /// A server that keeps one key to others, and the keys that it took.
    async fn written(error: fn(String) -> ApiError) -> (Result<(), ApiError>, Vec<&'static str>) {
        let taken = RefCell::new(Vec::new());
        let write = |marks: Vec<Mark>| {
            if marks.iter().any(|mark| mark.key == DISRUPTION.key) {
                return ready(Err(error("not yours".to_owned())));
            }
            taken.borrow_mut().extend(marks.iter().map(Mark::name));
            ready(Ok(()))
        };
        let result = apart(&SHIELDS, write).await;
        (result, taken.into_inner())
    }

    #[tokio::test]
    async fn one_refused_key_does_not_keep_the_others() {
        let others = SHIELDS.iter().filter(|mark| mark.key != DISRUPTION.key);
        let others: Vec<_> = others.map(Mark::name).collect();
        for error in [ApiError::Refused, ApiError::Unfit] {
            let (result, taken) = written(error).await;
            assert!(result.is_err(), "the refusal is told");
            assert_eq!(taken, others);
        }
        let (_, taken) = written(ApiError::Away).await;
        assert!(taken.is_empty(), "an absent server is asked later");
    }
}
