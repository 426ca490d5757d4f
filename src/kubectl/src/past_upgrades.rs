//! The upgrades that one or more nodes remember.

use std::cmp::Reverse;

use serde::Serialize;
use upgrade::history::Past;
use upgrade::report::Answer;

use crate::standing::{Standing, is_answered};
use crate::view::NodeView;

/// A finished upgrade and its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodePast {
    /// The node.
    pub node: String,
    /// The upgrade.
    #[serde(flatten)]
    pub past: Past,
}

/// All upgrades that these nodes remember, latest first. The order of one node's upgrades is its
/// own, because its clock may have been set.
#[must_use]
pub fn of(nodes: &[NodeView]) -> Vec<NodePast> {
    let mut told: Vec<NodePast> = nodes.iter().flat_map(remembered).collect();
    if nodes.len() > 1 {
        told.sort_by_key(|told| Reverse(told.past.began));
    }
    told
}

fn remembered(node: &NodeView) -> Vec<NodePast> {
    let past = match &node.history {
        Some(past) => past.clone(),
        None => last(node).into_iter().collect(),
    };
    let told = |past| NodePast {
        node: node.name.clone(),
        past,
    };
    past.into_iter().map(told).collect()
}

/// The last upgrade, as far as the status shows it.
fn last(node: &NodeView) -> Option<Past> {
    let standing = Standing::of(node);
    let has_ended = standing.is_end() && is_answered(node);
    let status = node.reply.status.as_ref().filter(|_| has_ended)?;
    Some(Past {
        id: status.id.clone(),
        answer: if standing.is_bad() {
            Answer::Failed
        } else {
            Answer::Upgraded
        },
        image: node.image().unwrap_or_default().to_owned(),
        from: None,
        to: status.to_version.clone(),
        began: status.reached.first()?.at,
        ended: status.reached.last()?.at,
        seconds: None,
        tries: status.tries,
        code: status.code.clone(),
        reason: status.reason.clone(),
    })
}
