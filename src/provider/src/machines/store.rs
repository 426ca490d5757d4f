//! The store of Machines.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use super::group::{Group, GroupKind};
use super::key::Key;
use super::state::State;
use crate::engine::Machine;

/// For how many seconds a watch may be broken before it counts as a break.
const BREAK: i64 = 10;

/// The store. Clones share it.
#[derive(Clone, Default)]
pub struct Machines(Arc<RwLock<State>>);

impl Machines {
    pub(super) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn write<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces all Machines. Returns those to process: all of them, and those that are gone.
    pub fn replace(&self, all: Vec<Machine>) -> Vec<Key> {
        self.write(|state| {
            let mut keys: HashSet<Key> = state.machines.keys().cloned().collect();
            for key in keys.iter() {
                state.remove(key);
            }
            keys.extend(all.into_iter().map(|machine| state.put(machine)));
            state.synced = true;
            keys.into_iter().collect()
        })
    }

    /// Stores a Machine.
    pub fn put(&self, machine: Machine) -> Key {
        self.write(|state| state.put(machine))
    }

    /// Stores a Machine from the watch. Returns it, and its group if it no longer requests an
    /// upgrade, because the others may have waited only for it.
    pub fn follow(&self, machine: Machine) -> Vec<Key> {
        self.write(|state| {
            let before = state.machines.get(&machine.key()).cloned();
            let key = state.put(machine);
            let now = state.machines.get(&key);
            let asks_on =
                |group: &Group| now.is_some_and(|now| now.asks() && now.group() == *group);
            let asked = before.filter(|before| before.asks());
            let left = asked.map(|before| before.group());
            let left = left.filter(|group| !asks_on(group));
            let others = left.and_then(|group| state.by_group.get(&group));
            let others = others.into_iter().flatten().cloned();
            others.chain([key]).collect()
        })
    }

    /// Takes the answer to a write, if the Machine still exists.
    pub fn renew(&self, machine: Machine) {
        self.write(|state| state.renew(machine));
    }

    /// Removes a Machine. Returns it, so that other records of it are removed too, and its group,
    /// which may now have its turn.
    pub fn remove(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            let group = state.machines.get(key).map(|machine| machine.group());
            state.remove(key);
            let others = group.and_then(|group| state.by_group.get(&group));
            let others = others.into_iter().flatten().cloned();
            others.chain([key.clone()]).collect()
        })
    }

    /// The watch works. A short interruption does not count as a break, because everything that
    /// happened in it is now listed.
    pub fn watched(&self, now: i64) {
        self.write(|state| {
            let gap = state.lost.take().map(|lost| now - lost);
            if !state.synced || gap.is_some_and(|gap| gap >= BREAK) {
                state.seen = now;
            }
        });
    }

    /// The watch is broken.
    pub fn lost(&self, now: i64) {
        self.write(|state| {
            state.lost.get_or_insert(now);
        });
    }

    /// Since when Machines are watched without a break.
    #[must_use]
    pub fn seen_since(&self) -> i64 {
        self.read(|state| state.seen)
    }

    /// Whether everything was listed once.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.read(|state| state.synced && state.owners.synced())
    }

    /// One Machine.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<Machine>> {
        self.read(|state| state.machines.get(key).cloned())
    }

    /// All Machines.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Machine>> {
        self.read(|state| state.machines.values().cloned().collect())
    }

    /// The Machine of a Node.
    #[must_use]
    pub fn of_node(&self, cluster: &Key, node: &str) -> Option<Key> {
        self.read(|state| state.by_node.get(cluster)?.get(node).cloned())
    }

    /// Records that exactly these Nodes of a Cluster work.
    pub fn nodes_work<'a>(&self, cluster: &Key, nodes: impl Iterator<Item = &'a str>) {
        self.write(|state| {
            for node in state.work.nodes_of(cluster) {
                state.node_works(cluster, &node, false);
            }
            nodes.for_each(|node| state.node_works(cluster, node, true));
        });
    }

    /// Records whether a Node works.
    pub fn node_works(&self, cluster: &Key, node: &str, works: bool) {
        self.write(|state| state.node_works(cluster, node, works));
    }

    /// How many other Machines of the group work: they are marked, or only their Nodes say so.
    #[must_use]
    pub fn others_at_work(&self, group: &Group, but: &Key) -> usize {
        self.read(|state| {
            let at_work = state.work.of(group);
            at_work.map_or(0, |at_work| {
                besides(&at_work.marked, but) + besides(&at_work.unasked, but)
            })
        })
    }

    /// How many other Machines of the group are marked.
    #[must_use]
    pub fn others_marked(&self, group: &Group, but: &Key) -> usize {
        self.read(|state| {
            let at_work = state.work.of(group);
            at_work.map_or(0, |at_work| besides(&at_work.marked, but))
        })
    }

    /// The first `most` of the others that are marked.
    #[must_use]
    pub fn some_marked(&self, group: &Group, but: &Key, most: usize) -> Vec<Arc<Machine>> {
        self.read(|state| {
            let marked = state.work.of(group).map(|at_work| &at_work.marked);
            state.others(marked, but).take(most).collect()
        })
    }

    /// The others of which only their Nodes say that they work.
    #[must_use]
    pub fn others_unasked(&self, group: &Group, but: &Key) -> Vec<Arc<Machine>> {
        self.read(|state| {
            let unasked = state.work.of(group).map(|at_work| &at_work.unasked);
            state.others(unasked, but).collect()
        })
    }

    /// All Machines that take turns with this one, including itself.
    #[must_use]
    pub fn in_group(&self, group: &Group) -> Vec<Arc<Machine>> {
        self.read(|state| {
            let keys = state.by_group.get(group).into_iter().flatten();
            keys.filter_map(|key| state.machines.get(key).cloned())
                .collect()
        })
    }

    /// The Machines of a Cluster's control plane.
    #[must_use]
    pub fn control_plane_of(&self, cluster: &Key) -> Vec<Arc<Machine>> {
        let group = Group {
            cluster: cluster.clone(),
            kind: GroupKind::ControlPlane,
        };
        self.in_group(&group)
    }

    /// All Machines of a Cluster, as facts.
    #[must_use]
    pub fn all_of(&self, cluster: &Key) -> Vec<Arc<Machine>> {
        self.read(|state| {
            let keys = state.of_cluster(cluster);
            let machines = keys.iter().map(|key| state.machines.get(key).cloned());
            machines.flatten().collect()
        })
    }

    /// All Machines of a Cluster.
    #[must_use]
    pub fn of_cluster(&self, cluster: &Key) -> Vec<Key> {
        self.read(|state| state.of_cluster(cluster))
    }
}

/// The size of a set without this key.
fn besides(set: &BTreeSet<Key>, but: &Key) -> usize {
    set.len() - usize::from(set.contains(but))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, version: &str) -> Machine {
        Machine {
            namespace: "t".into(),
            name: name.into(),
            uid: format!("uid-{name}"),
            cluster: "c".into(),
            resource_version: version.into(),
            node: Some("node".into()),
            deployment: Some("w".into()),
            ..Machine::default()
        }
    }

    #[test]
    fn machine_keeps_a_node_taken_over_from_a_removed_machine() {
        let machines = Machines::default();
        machines.replace(vec![machine("old", "1")]);
        let new = machines.put(machine("new", "2"));
        machines.remove(&Key::new("t", "old"));
        assert_eq!(machines.of_node(&Key::new("t", "c"), "node"), Some(new));
    }

    #[test]
    fn who_is_marked_is_at_work_whatever_its_node_says() {
        let machines = Machines::default();
        let marked = Machine {
            mark: Some(crate::engine::Mark::default()),
            node: Some("other".into()),
            ..machine("marked", "1")
        };
        let group = marked.group();
        machines.replace(vec![machine("m", "1"), marked]);
        let at_work = |but: &str, nodes: &[&str]| {
            machines.nodes_work(&group.cluster, nodes.iter().copied());
            machines.others_at_work(&group, &Key::new("t", but))
        };
        assert_eq!(at_work("m", &[]), 1);
        assert_eq!(at_work("m", &["other"]), 1, "counted once");
        assert_eq!(at_work("marked", &["node"]), 1);
        assert_eq!(at_work("none", &["node", "other", "unknown"]), 2);
        machines.put(machine("marked", "2"));
        assert_eq!(at_work("m", &[]), 0);
    }

    #[test]
    fn nobody_waits_for_a_machine_that_a_person_left_out() {
        let machines = Machines::default();
        let marked = |left_out: bool, version: &str| Machine {
            mark: Some(crate::engine::Mark::default()),
            left_out,
            ..machine("marked", version)
        };
        let group = marked(true, "1").group();
        let at_work = || machines.others_at_work(&group, &Key::new("t", "m"));
        machines.replace(vec![marked(false, "1")]);
        machines.nodes_work(&group.cluster, ["node"].into_iter());
        assert_eq!(at_work(), 1);
        machines.put(marked(true, "2"));
        assert_eq!(at_work(), 0);
        machines.put(marked(false, "3"));
        assert_eq!(at_work(), 1, "taken back");
    }

    /// A Machine of the deployment `w`, with or without the annotation.
    fn asking(name: &str, version: &str, asked: bool) -> Machine {
        Machine {
            asked,
            node: Some(name.into()),
            ..machine(name, version)
        }
    }

    #[test]
    fn machine_that_stops_asking_wakes_the_others_in_its_group() {
        let machines = Machines::default();
        let all = ["a", "b"].map(|name| asking(name, "1", true));
        machines.replace(all.into());
        let woken = |machine: Machine| machines.follow(machine).contains(&Key::new("t", "a"));
        assert!(!woken(asking("b", "2", true)), "it asks on");
        assert!(woken(asking("b", "3", false)), "withdrawn");
        assert!(!woken(asking("b", "4", false)), "it had asked no more");
        assert!(!woken(asking("b", "5", true)), "asked again");
        let deleted = Machine {
            deleting: true,
            ..asking("b", "6", true)
        };
        assert!(woken(deleted), "it goes");
        machines.follow(asking("b", "7", true));
        let moved = Machine {
            deployment: Some("other".into()),
            ..asking("b", "8", true)
        };
        assert!(woken(moved), "it is of another group");
    }

    #[test]
    fn only_a_long_break_is_time_in_which_nothing_was_seen() {
        let machines = Machines::default();
        machines.watched(1000);
        machines.replace(Vec::new());
        machines.lost(2000);
        machines.watched(2001);
        assert_eq!(machines.seen_since(), 1000);
        machines.lost(3000);
        machines.lost(3100);
        machines.watched(3101);
        assert_eq!(machines.seen_since(), 3101);
    }

    #[test]
    fn late_write_response_does_not_restore_a_removed_machine() {
        let machines = Machines::default();
        let key = machines.put(machine("m", "1"));
        machines.renew(machine("m", "2"));
        let version = |key| machines.get(key).map(|kept| kept.resource_version.clone());
        assert_eq!(version(&key).as_deref(), Some("2"));
        machines.remove(&key);
        machines.renew(machine("m", "3"));
        assert_eq!(machines.get(&key), None);
        let successor = Machine {
            uid: "uid-successor".into(),
            ..machine("m", "5")
        };
        machines.put(successor.clone());
        machines.renew(machine("m", "3"));
        assert_eq!(machines.get(&key).as_deref(), Some(&successor));
    }

    #[test]
    fn what_a_slow_watch_shows_does_not_undo_what_a_write_answered() {
        let machines = Machines::default();
        let marked = Machine {
            skips_remediation: true,
            ..machine("m", "11")
        };
        let key = machines.put(marked);
        machines.put(machine("m", "9"));
        assert!(
            machines
                .get(&key)
                .is_some_and(|kept| kept.skips_remediation)
        );
    }
}
