//! Careen's marks whose field somebody has removed or replaced. On a node that is away, the keys
//! that keep others off it are set again, once. A second removal is somebody's will: then only the
//! mark goes, as on a node that its users have.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use client::Node;
use json_patch::{Patch, PatchOperation};
use tracing::warn;
use upgrade::UpgradeId;
use upgrade::policy::Neighbours;

use super::{change, shield};
use crate::cluster::marks::{EXCLUSION, Mark};

/// Which keys this agent has set again, each with the upgrade.
#[derive(Clone, Debug, Default)]
pub struct Again(Arc<Mutex<BTreeSet<(String, &'static str)>>>);

impl Again {
    fn has(&self, id: &UpgradeId, mark: &Mark) -> bool {
        let set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        set.contains(&(id.to_string(), mark.key))
    }

    fn note(&self, id: &UpgradeId, mark: &Mark) {
        let mut set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        set.insert((id.to_string(), mark.key));
    }
}

/// An upgrade that has the node.
pub struct Away<'a> {
    id: &'a UpgradeId,
    /// The keys that may be set again.
    open: Vec<Mark>,
    again: &'a Again,
}

impl<'a> Away<'a> {
    /// Of the keys that the policy wants, those that this agent has not set again yet may be set.
    /// The cordon is no such key: without it the node is drained again.
    #[must_use]
    pub fn new(id: &'a UpgradeId, neighbours: &Neighbours, again: &'a Again) -> Self {
        let wanted = shield::wanted(neighbours).into_iter().chain([EXCLUSION]);
        let open = wanted.filter(|mark| !again.has(id, mark)).collect();
        Self { id, open, again }
    }

    /// The operations that set the key again. Empty if it may not be set, or is not lost.
    fn set(&self, node: &Node, mark: &Mark) -> Vec<PatchOperation> {
        if !self.open.iter().any(|open| open.key == mark.key) {
            return Vec::new();
        }
        let set = shield::restored(node, self.id, mark);
        if !set.is_empty() {
            self.again.note(self.id, mark);
        }
        set
    }
}

/// The change for these marks, or `None` if each marks a field of Careen's.
pub(super) fn answered(node: &Node, marks: &[Mark], away: Option<&Away<'_>>) -> Option<Patch> {
    let marks = marks.iter();
    let all: Vec<_> = marks.flat_map(|mark| answer(node, mark, away)).collect();
    (!all.is_empty()).then_some(Patch(all))
}

fn answer(node: &Node, mark: &Mark, away: Option<&Away<'_>>) -> Vec<PatchOperation> {
    let set = away.map_or_else(Vec::new, |away| away.set(node, mark));
    if !set.is_empty() {
        let name = mark.name();
        warn!("{name} was removed or replaced during the upgrade; restored");
        return set;
    }
    let left = change::unmarked(mark, node);
    if away.is_some() && !left.is_empty() {
        let name = mark.name();
        warn!("{name} was removed or replaced during the upgrade; the agent does not restore it");
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::marks::{ALL, DISRUPTION, SCALE_DOWN};
    use serde_json::json;
    use upgrade::names;

    /// The Node with the marks of this upgrade, and without what they mark.
    fn stripped() -> Node {
        let annotations = json!({
            names::SCALE_DOWN_REFUSED_BY: "u1", names::SCALE_DOWN_REFUSED: "false",
            names::DISRUPTION_REFUSED_BY: "u1", names::EXCLUDED_BY: "u1", names::CORDONED_BY: "u1",
        });
        let meta = json!({ "name": "n", "annotations": annotations, "labels": { "a": "b" } });
        serde_json::from_value(json!({ "metadata": meta })).unwrap()
    }

    /// The paths that the change sets.
    fn set(patch: &Patch) -> Vec<String> {
        let all = patch.0.iter().filter_map(|operation| match operation {
            PatchOperation::Add(add) => add.path.tokens().last().map(|last| last.decoded().into()),
            PatchOperation::Remove(_)
            | PatchOperation::Replace(_)
            | PatchOperation::Move(_)
            | PatchOperation::Copy(_)
            | PatchOperation::Test(_) => None,
        });
        let mut all: Vec<String> = all.collect();
        all.retain(|name| !name.starts_with("careen.dev/"));
        all.sort();
        all
    }

    #[test]
    fn lost_keys_of_a_node_that_is_away_are_set_again_once() {
        let (id, again) = ("u1".parse().unwrap(), Again::default());
        let neighbours = Neighbours::default();
        let away = || Away::new(&id, &neighbours, &again);
        let first = away();
        let expected = [
            names::SCALE_DOWN_REFUSED,
            names::DISRUPTION_REFUSED,
            names::EXCLUDED,
        ];
        for _ in 0..2 {
            let patch = answered(&stripped(), &ALL, Some(&first)).unwrap();
            assert_eq!(set(&patch), expected, "also if the write is overtaken");
        }
        let patch = answered(&stripped(), &ALL, Some(&away())).unwrap();
        assert_eq!(set(&patch), [""; 0], "somebody insists");
    }

    #[test]
    fn lost_keys_of_a_node_in_service_lose_their_marks() {
        let meta = json!({ "metadata": { "name": "n" } });
        let served: Node = serde_json::from_value(meta).unwrap();
        let patch = answered(&stripped(), &[SCALE_DOWN, DISRUPTION], None).unwrap();
        assert_eq!(set(&patch), [""; 0]);
        assert_eq!(answered(&served, &ALL, None), None);
    }

    #[test]
    fn a_key_that_the_policy_switches_off_is_not_set_again() {
        let (id, again) = ("u1".parse().unwrap(), Again::default());
        let neighbours = Neighbours {
            cluster_autoscaler: false,
            ..Neighbours::default()
        };
        let away = Away::new(&id, &neighbours, &again);
        let patch = answered(&stripped(), &[SCALE_DOWN], Some(&away)).unwrap();
        assert_eq!(set(&patch), [""; 0]);
    }
}
