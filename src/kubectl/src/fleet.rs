//! The watched nodes, updated by the events of the watch.

use std::collections::{BTreeMap, BTreeSet};

use kube::runtime::watcher::Event;

use crate::api::Node;
use crate::cli::Choice;
use crate::view::NodeView;

/// Nodes by name.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    nodes: BTreeMap<String, NodeView>,
    /// The result so far of a list in progress.
    coming: Option<BTreeMap<String, NodeView>>,
    /// The names of the chosen nodes; all nodes without names.
    meant: Option<BTreeSet<String>>,
    whole: bool,
}

/// Which nodes have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// None: only time has passed, or the event concerned a node that was not chosen.
    None,
    /// This node, which may be gone.
    Of(String),
    /// All nodes.
    OfAll,
}

impl Fleet {
    /// The chosen nodes.
    #[must_use]
    pub fn of(choice: &Choice) -> Self {
        let meant = match choice {
            Choice::Named(names) => Some(names.iter().cloned().collect()),
            Choice::Selected(_) | Choice::All => None,
        };
        Self {
            meant,
            ..Self::default()
        }
    }

    /// Applies an event of the watch, and returns which node it concerned.
    pub fn take(&mut self, event: Event<Node>) -> News {
        match event {
            Event::Init => self.coming = Some(BTreeMap::new()),
            Event::InitApply(node) => {
                if let Some((name, view)) = self.meant(node) {
                    self.coming.get_or_insert_default().insert(name, view);
                }
            }
            Event::InitDone => {
                self.nodes = self.coming.take().unwrap_or_default();
                self.whole = true;
                return News::OfAll;
            }
            Event::Apply(node) => {
                if let Some((name, view)) = self.meant(node) {
                    self.nodes.insert(name.clone(), view);
                    return News::Of(name);
                }
            }
            Event::Delete(node) => {
                let name = node.metadata.name.clone().unwrap_or_default();
                if self.nodes.remove(&name).is_some() {
                    return News::Of(name);
                }
            }
        }
        News::None
    }

    /// The watch may bring thousands of Nodes for the sake of a few. Only the chosen ones are
    /// parsed.
    fn meant(&self, node: Node) -> Option<(String, NodeView)> {
        let name = node.metadata.name.clone().unwrap_or_default();
        let meant = self.meant.as_ref();
        let is_meant = meant.is_none_or(|names| names.contains(&name));
        is_meant.then(|| (name, NodeView::from(node)))
    }

    /// Adds a node to the chosen ones.
    pub fn mean(&mut self, name: &str) {
        if let Some(meant) = &mut self.meant {
            meant.insert(name.to_owned());
        }
    }

    /// Removes a node that is gone.
    pub fn forget(&mut self, name: &str) {
        self.nodes.remove(name);
    }

    /// Whether the first list is complete.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// The nodes, by name.
    #[must_use]
    pub fn nodes(&self) -> Vec<&NodeView> {
        self.nodes.values().collect()
    }

    /// One node.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NodeView> {
        self.nodes.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(name: &str) -> Node {
        serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
    }

    fn names(fleet: &Fleet) -> Vec<&str> {
        fleet
            .nodes()
            .into_iter()
            .map(|node| node.name.as_str())
            .collect()
    }

    #[test]
    fn restarted_watch_forgets_what_disappeared_meanwhile() {
        let mut fleet = Fleet::of(&Choice::All);
        let events = [
            Event::Init,
            Event::InitApply(node("a")),
            Event::InitApply(node("b")),
        ];
        for event in events {
            fleet.take(event);
        }
        assert!(!fleet.is_whole());
        fleet.take(Event::InitDone);
        assert_eq!(names(&fleet), ["a", "b"]);
        let events = [Event::Init, Event::InitApply(node("b"))];
        for event in events {
            fleet.take(event);
        }
        assert_eq!(names(&fleet), ["a", "b"], "until the new list is whole");
        fleet.take(Event::InitDone);
        assert_eq!(names(&fleet), ["b"]);
    }

    #[test]
    fn only_the_named_nodes_are_watched() {
        let mut fleet = Fleet::of(&Choice::Named(vec!["b".to_owned()]));
        let news = ["a", "b"].map(|name| fleet.take(Event::Apply(node(name))));
        assert_eq!(news, [News::None, News::Of("b".to_owned())]);
        assert_eq!(names(&fleet), ["b"]);
        let news = ["a", "b"].map(|name| fleet.take(Event::Delete(node(name))));
        assert_eq!(news, [News::None, News::Of("b".to_owned())]);
        assert!(names(&fleet).is_empty());
    }
}
