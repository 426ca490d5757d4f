//! The bodies of JSON merge patches. Every one but a question's names the version of the Node that it was decided on, so that the
//! API server refuses it when somebody was faster, and the decision is taken anew.

use requests::onto;
use serde::Serialize;
use serde_json::{Value, json};
use upgrade::target::request;
use upgrade::{RawRequest, UpgradeId, names};

use super::Wish;
use crate::view::NodeView;

/// Asks for it.
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

/// Takes it back.
#[must_use]
pub fn withdrawing(node: &NodeView) -> Value {
    conditional(node, request::clear_patch())
}

/// Pauses with a reason, or resumes without one.
#[must_use]
pub fn pausing(node: &NodeView, reason: Option<&str>) -> Value {
    conditional(node, json!({ names::PAUSED: reason }))
}

/// Asks for a plan. Two who ask at once: the later one wins, and the other's answer does not come.
#[must_use]
pub fn questioning(question: &str) -> Value {
    json!({ "metadata": { "annotations": { names::PLAN: question } } })
}

/// Takes the question back.
#[must_use]
pub fn unquestioning(node: &NodeView) -> Value {
    conditional(node, json!({ names::PLAN: null }))
}

/// On the Node as it was read, and no other.
fn conditional(node: &NodeView, annotations: impl Serialize) -> Value {
    onto(&node.uid, &node.resource_version, annotations)
}
