//! Where Machines are kept, with the ways they are looked up by.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::group::{Group, GroupKind};
use super::owners::Owners;
use crate::engine::Machine;
use crate::watch::is_older;

/// Namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// A key.
    #[must_use]
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The store; clones are the same store.
#[derive(Clone, Default)]
pub struct Machines(Arc<RwLock<State>>);

#[derive(Default)]
pub(super) struct State {
    synced: bool,
    pub(super) machines: HashMap<Key, Arc<Machine>>,
    by_node: HashMap<Key, HashMap<String, Key>>,
    pub(super) by_group: HashMap<Group, BTreeSet<Key>>,
    by_cluster: HashMap<Key, HashSet<Key>>,
    pub(super) owners: Owners,
}

impl State {
    /// What is older than what is known is passed over: our own writes answer before the watch.
    fn put(&mut self, machine: Machine) -> Key {
        let key = machine.key();
        if self.machines.get(&key).is_some_and(|known| {
            known.uid == machine.uid && is_older(&machine.resource_version, &known.resource_version)
        }) {
            return key;
        }
        self.remove(&key);
        if let Some(node) = &machine.node {
            let of_cluster = self.by_node.entry(machine.cluster_key()).or_default();
            of_cluster.insert(node.clone(), key.clone());
        }
        self.by_group
            .entry(machine.group())
            .or_default()
            .insert(key.clone());
        self.by_cluster
            .entry(machine.cluster_key())
            .or_default()
            .insert(key.clone());
        self.machines.insert(key.clone(), Arc::new(machine));
        key
    }

    fn remove(&mut self, key: &Key) {
        let Some(old) = self.machines.remove(key) else {
            return;
        };
        if let Some(node) = &old.node {
            drop_from(
                &mut self.by_node,
                &old.cluster_key(),
                // A Machine that took the place of this one may have the Node by now.
                |nodes| nodes.get(node) == Some(key) && nodes.remove(node).is_some(),
                HashMap::is_empty,
            );
        }
        drop_from(
            &mut self.by_group,
            &old.group(),
            |set| set.remove(key),
            BTreeSet::is_empty,
        );
        drop_from(
            &mut self.by_cluster,
            &old.cluster_key(),
            |set| set.remove(key),
            HashSet::is_empty,
        );
    }

    pub(super) fn of_cluster(&self, cluster: &Key) -> Vec<Key> {
        self.by_cluster
            .get(cluster)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }
}

/// Takes something out of a set in a map, and the set out of the map when it is empty.
fn drop_from<K: Eq + std::hash::Hash, S>(
    map: &mut HashMap<K, S>,
    key: &K,
    take: impl FnOnce(&mut S) -> bool,
    is_empty: impl FnOnce(&S) -> bool,
) {
    let Some(set) = map.get_mut(key) else { return };
    take(set);
    if is_empty(set) {
        map.remove(key);
    }
}

impl Machines {
    pub(super) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn write<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what was listed for all there is. Returns those to look at: all of them, and those that are gone.
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

    /// Takes one in.
    pub fn put(&self, machine: Machine) -> Key {
        self.write(|state| state.put(machine))
    }

    /// Forgets one. Returns it, so that whatever is kept of it elsewhere goes too, and its group: it may be their turn now.
    pub fn remove(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            let group = state.machines.get(key).map(|machine| machine.group());
            state.remove(key);
            let others = group.and_then(|group| state.by_group.get(&group));
            let others = others.into_iter().flatten().cloned();
            others.chain([key.clone()]).collect()
        })
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

    /// How many of these Nodes belong to Machines of the group, other than this one.
    #[must_use]
    pub fn others_of(&self, group: &Group, but: &str, nodes: &HashSet<String>) -> usize {
        self.read(|state| {
            let Some(known) = state.by_node.get(&group.cluster) else {
                return 0;
            };
            let machines = nodes
                .iter()
                .filter_map(|node| state.machines.get(known.get(node)?));
            machines
                .filter(|machine| machine.name != but && machine.is_in(group))
                .count()
        })
    }

    /// All Machines that take turns with this one, itself included.
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

    /// All Machines of a Cluster.
    #[must_use]
    pub fn of_cluster(&self, cluster: &Key) -> Vec<Key> {
        self.read(|state| state.of_cluster(cluster))
    }
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
    fn a_machine_that_took_over_a_node_keeps_it_when_the_old_one_goes() {
        let machines = Machines::default();
        machines.replace(vec![machine("old", "1")]);
        let new = machines.put(machine("new", "2"));
        machines.remove(&Key::new("t", "old"));
        assert_eq!(machines.of_node(&Key::new("t", "c"), "node"), Some(new));
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
