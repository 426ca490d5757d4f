//! Who of a group works, kept up to date with every change: whoever wants a turn asks for their number, and a group may have thousands.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::group::Group;
use super::key::Key;
use crate::engine::Machine;

/// The Machines that work: they are marked, or their Nodes have a request in hand. Not those that a person left out.
#[derive(Default)]
pub(super) struct Work {
    by_group: HashMap<Group, BTreeSet<Key>>,
    /// Names of the Nodes that do, by Cluster.
    nodes: HashMap<Key, HashSet<String>>,
}

impl Work {
    /// Takes note of a Machine, and whether the Node that it names is its.
    pub(super) fn put(&mut self, machine: &Machine, has_node: bool) {
        let works = machine.mark.is_some() || (has_node && self.has(machine));
        if works && !machine.left_out {
            self.by_group
                .entry(machine.group())
                .or_default()
                .insert(machine.key());
        } else {
            self.remove(machine);
        }
    }

    fn has(&self, machine: &Machine) -> bool {
        let node = machine.node.as_ref();
        let nodes = self.nodes.get(&machine.cluster_key());
        node.zip(nodes)
            .is_some_and(|(node, all)| all.contains(node))
    }

    pub(super) fn remove(&mut self, machine: &Machine) {
        let group = machine.group();
        let Some(set) = self.by_group.get_mut(&group) else {
            return;
        };
        set.remove(&machine.key());
        if set.is_empty() {
            self.by_group.remove(&group);
        }
    }

    /// Takes note of a Node. Whoever calls has its Machine noted anew.
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

    /// Those of a group that work, other than this one.
    pub(super) fn others<'a>(
        &'a self,
        group: &Group,
        but: &'a Key,
    ) -> impl Iterator<Item = &'a Key> {
        let all = self.by_group.get(group).into_iter().flatten();
        all.filter(move |key| *key != but)
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
        machines
            .others_at_work(&group, &Key::new("t", "nobody"))
            .len()
    }

    #[test]
    fn a_node_that_works_counts_whether_it_or_its_machine_is_seen_first() {
        let (machines, cluster) = (Machines::default(), Key::new("t", "c"));
        machines.node_works(&cluster, "n", true);
        assert_eq!(working(&machines), 0, "whose it is is not known");
        machines.put(machine("m", "n"));
        assert_eq!(working(&machines), 1);
        machines.node_works(&cluster, "n", false);
        assert_eq!(working(&machines), 0);
        machines.node_works(&cluster, "n", true);
        machines.replace(vec![machine("m", "n")]);
        assert_eq!(working(&machines), 1, "listed anew");
        machines.nodes_work(&cluster, std::iter::empty());
        assert_eq!(working(&machines), 0, "its cluster was listed anew");
    }

    #[test]
    fn a_node_counts_for_the_machine_that_has_it_and_in_the_group_that_this_is_of() {
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
