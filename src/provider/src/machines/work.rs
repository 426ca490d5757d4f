//! Which Machines of a group work, updated with every change. Every Machine that wants a turn needs
//! their number, and a group may have thousands.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::group::Group;
use super::key::Key;
use crate::engine::Machine;

/// The Machines that work: they are marked, or their Nodes have a request in progress. Machines
/// that a person left out do not count.
#[derive(Default)]
pub(super) struct Work {
    by_group: HashMap<Group, AtWork>,
    /// The names of the Nodes that work, by Cluster.
    nodes: HashMap<Key, HashSet<String>>,
}

/// The working Machines of one group.
#[derive(Default)]
pub(super) struct AtWork {
    /// They are marked.
    pub(super) marked: BTreeSet<Key>,
    /// Only their Nodes say that they work.
    pub(super) unasked: BTreeSet<Key>,
}

impl AtWork {
    fn remove(&mut self, key: &Key) {
        self.marked.remove(key);
        self.unasked.remove(key);
    }

    fn is_empty(&self) -> bool {
        self.marked.is_empty() && self.unasked.is_empty()
    }
}

impl Work {
    /// Records a Machine, and whether the Node that it names is its own.
    pub(super) fn put(&mut self, machine: &Machine, has_node: bool) {
        self.remove(machine);
        let is_unasked = machine.mark.is_none();
        if machine.left_out || (is_unasked && !(has_node && self.has(machine))) {
            return;
        }
        let at_work = self.by_group.entry(machine.group()).or_default();
        let set = if is_unasked {
            &mut at_work.unasked
        } else {
            &mut at_work.marked
        };
        set.insert(machine.key());
    }

    fn has(&self, machine: &Machine) -> bool {
        let node = machine.node.as_ref();
        let nodes = self.nodes.get(&machine.cluster_key());
        node.zip(nodes)
            .is_some_and(|(node, all)| all.contains(node))
    }

    pub(super) fn remove(&mut self, machine: &Machine) {
        let group = machine.group();
        let Some(at_work) = self.by_group.get_mut(&group) else {
            return;
        };
        at_work.remove(&machine.key());
        if at_work.is_empty() {
            self.by_group.remove(&group);
        }
    }

    /// Records a Node. The caller then records its Machine again.
    pub(super) fn node(&mut self, cluster: &Key, node: &str, works: bool) {
        let nodes = self.nodes.entry(cluster.clone()).or_default();
        if works {
            nodes.insert(node.to_owned());
        } else {
            nodes.remove(node);
        }
        if nodes.is_empty() {
            self.nodes.remove(cluster);
        }
    }

    /// The Nodes of a Cluster that work.
    pub(super) fn nodes_of(&self, cluster: &Key) -> Vec<String> {
        let nodes = self.nodes.get(cluster).into_iter().flatten();
        nodes.cloned().collect()
    }

    /// The working Machines of a group.
    pub(super) fn of(&self, group: &Group) -> Option<&AtWork> {
        self.by_group.get(group)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::Machine;
    use crate::machines::{Key, Machines};

    fn machine(name: &str, node: &str) -> Machine {
        Machine {
            namespace: "t".into(),
            name: name.into(),
            uid: format!("uid-{name}"),
            cluster: "c".into(),
            node: Some(node.into()),
            deployment: Some("w".into()),
            ..Machine::default()
        }
    }

    /// How many of the group work.
    fn working(machines: &Machines) -> usize {
        let group = machine("any", "any").group();
        machines.others_at_work(&group, &Key::new("t", "nobody"))
    }

    #[test]
    fn working_node_counts_whether_node_or_machine_is_seen_first() {
        let (machines, cluster) = (Machines::default(), Key::new("t", "c"));
        machines.node_works(&cluster, "n", true);
        assert_eq!(working(&machines), 0, "whose it is is not known");
        machines.put(machine("m", "n"));
        assert_eq!(working(&machines), 1);
        machines.node_works(&cluster, "n", false);
        assert_eq!(working(&machines), 0);
        machines.node_works(&cluster, "n", true);
        machines.replace(vec![machine("m", "n")]);
        assert_eq!(working(&machines), 1, "listed again");
        machines.nodes_work(&cluster, std::iter::empty());
        assert_eq!(working(&machines), 0, "its cluster was listed again");
    }

    #[test]
    fn working_node_counts_once_and_for_its_current_machine() {
        let (machines, cluster) = (Machines::default(), Key::new("t", "c"));
        machines.node_works(&cluster, "n", true);
        machines.put(machine("old", "n"));
        machines.put(machine("new", "n"));
        assert_eq!(working(&machines), 1, "not twice");
        machines.put(Machine {
            deployment: Some("other".into()),
            ..machine("new", "n")
        });
        assert_eq!(working(&machines), 0);
        machines.remove(&Key::new("t", "new"));
        assert_eq!(working(&machines), 0, "the old one has lost it");
    }
}
