//! The bodies of JSON merge patches. Every one but a question's names the version of the Node that it was decided on, so that the
//! API server refuses it when somebody was faster, and the decision is taken anew.

use serde_json::{Value, json};
use upgrade::{UpgradeId, names};

use super::Wish;
use crate::view::NodeView;

/// Asks for it. All its annotations together, so that no reader sees half a request, and nothing of the one before is left.
#[must_use]
pub fn asking(node: &NodeView, wish: &Wish, id: &UpgradeId) -> Value {
    conditional(
        node,
        json!({
            names::REQUEST: names::REQUEST_SCHEDULED,
            names::IMAGE: wish.image,
            names::KUBERNETES_VERSION: wish.kubernetes,
            names::UPGRADE_ID: id,
            names::SOAK: wish.soak,
        }),
    )
}

/// Takes it back.
#[must_use]
pub fn withdrawing(node: &NodeView) -> Value {
    conditional(
        node,
        json!({
            names::REQUEST: null,
            names::IMAGE: null,
            names::KUBERNETES_VERSION: null,
            names::UPGRADE_ID: null,
            names::SOAK: null,
        }),
    )
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
fn conditional(node: &NodeView, annotations: Value) -> Value {
    json!({
        "metadata": {
            "uid": node.uid,
            "resourceVersion": node.resource_version,
            "annotations": annotations,
        },
    })
}
