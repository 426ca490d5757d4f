//! The bodies of JSON merge patches. Every patch except a question names the resource version of
//! the Node that the decision was based on. If another writer was faster, the API server rejects
//! the patch, and the command decides again.

use requests::onto;
use serde::Serialize;
use serde_json::{Value, json};
use upgrade::target::request;
use upgrade::{RawRequest, UpgradeId, names};

use super::wish::Wish;
use crate::view::NodeView;

/// Requests an upgrade.
#[must_use]
pub fn asking(node: &NodeView, wish: &Wish, id: &UpgradeId) -> Value {
    let request = RawRequest {
        kubernetes: wish.kubernetes.clone(),
        id: Some(id.to_string()),
        soak: wish.soak.clone(),
        ..RawRequest::scheduled(&wish.image)
    };
    conditional(node, request::to_patch(&request))
}

/// Withdraws the request.
#[must_use]
pub fn withdrawing(node: &NodeView) -> Value {
    conditional(node, request::clear_patch())
}

/// Pauses with a reason, or resumes without one.
#[must_use]
pub fn pausing(node: &NodeView, reason: Option<&str>) -> Value {
    conditional(node, json!({ names::PAUSED: reason }))
}

/// Requests a plan. If two people ask at once, the later question wins, and the other gets no
/// answer.
#[must_use]
pub fn questioning(question: &str) -> Value {
    json!({ "metadata": { "annotations": { names::PLAN: question } } })
}

/// Withdraws the question.
#[must_use]
pub fn unquestioning(node: &NodeView) -> Value {
    conditional(node, json!({ names::PLAN: null }))
}

/// A patch that applies only to the Node as it was read.
fn conditional(node: &NodeView, annotations: impl Serialize) -> Value {
    onto(&node.uid, &node.resource_version, annotations)
}
