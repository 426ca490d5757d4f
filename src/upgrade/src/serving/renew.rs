//! The note's pods before another trial: the old system has run again since the note.

use super::compare::{is_same_template, serves};
use super::offer::NodePod;

/// The noted pods as they are now. What has left the node since is not missing in the next trial,
/// and containers of this boot do not show that the next system runs. Nothing is added: only a node
/// in service shows what belongs to it.
#[must_use]
pub fn renewed(noted: &[NodePod], now: &[NodePod]) -> Vec<NodePod> {
    noted.iter().filter_map(|was| one(was, now)).collect()
}

/// Whether each noted pod is gone, or Ready with containers that it did not have at the note.
#[must_use]
pub fn are_renewed(noted: &[NodePod], now: &[NodePod]) -> bool {
    let is_renewed = |was: &NodePod| same(was, now).is_none_or(|pod| serves(was, pod));
    noted.iter().all(is_renewed)
}

fn one(was: &NodePod, now: &[NodePod]) -> Option<NodePod> {
    let pod = same(was, now)?;
    // Another template that was not Ready here either must not count against the image.
    let is_known = is_same_template(was, pod) || pod.unready.is_none();
    Some(if is_known {
        NodePod {
            unready: was.unready.clone(),
            ..pod.clone()
        }
    } else {
        was.clone()
    })
}

/// The same pod, or another one of the same owner.
fn same<'a>(was: &NodePod, now: &'a [NodePod]) -> Option<&'a NodePod> {
    let mut of_the_owner = now.iter().filter(|pod| pod.owner == was.owner);
    let itself = of_the_owner.clone().find(|pod| pod.uid == was.uid);
    itself.or_else(|| of_the_owner.next())
}
