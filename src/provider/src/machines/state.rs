//! Machines and their indexes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::group::Group;
use super::key::Key;
use super::owners::Owners;
use super::work::Work;
use crate::engine::Machine;
use crate::watch::is_older;

#[derive(Default)]
pub(super) struct State {
    pub(super) synced: bool,
    pub(super) machines: HashMap<Key, Arc<Machine>>,
    pub(super) by_node: HashMap<Key, HashMap<String, Key>>,
    pub(super) by_group: HashMap<Group, BTreeSet<Key>>,
    pub(super) work: Work,
    by_cluster: HashMap<Key, HashSet<Key>>,
    /// Since when Machines are watched without a break, and since when the watch is broken.
    pub(super) seen: i64,
    pub(super) lost: Option<i64>,
    pub(super) owners: Owners,
}

impl State {
    /// Stores a Machine. An older state is ignored, because the answers to the provider's writes
    /// arrive before the watch.
    pub(super) fn put(&mut self, machine: Machine) -> Key {
        let key = machine.key();
        if self.machines.get(&key).is_some_and(|known| {
            known.uid == machine.uid && is_older(&machine.resource_version, &known.resource_version)
        }) {
            return key;
        }
        self.remove(&key);
        if let Some(node) = &machine.node {
            let of_cluster = self.by_node.entry(machine.cluster_key()).or_default();
            let before = of_cluster.insert(node.clone(), key.clone());
            before.iter().for_each(|key| self.note(key));
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
        self.note(&key);
        key
    }

    /// Records whether a Machine works. If two Machines name the same Node, the last one has it.
    fn note(&mut self, key: &Key) {
        let Some(machine) = self.machines.get(key) else {
            return;
        };
        let of_cluster = self.by_node.get(&machine.cluster_key());
        let owner = machine.node.as_ref().and_then(|node| of_cluster?.get(node));
        self.work.put(machine, owner == Some(key));
    }

    /// Records whether a Node works.
    pub(super) fn node_works(&mut self, cluster: &Key, node: &str, works: bool) {
        self.work.node(cluster, node, works);
        let owner = self.by_node.get(cluster).and_then(|nodes| nodes.get(node));
        if let Some(owner) = owner.cloned() {
            self.note(&owner);
        }
    }

    /// Takes the answer to a write. It may arrive after the Machine is gone, or after another
    /// Machine has its name. Such a Machine must not be stored, because no watch event would ever
    /// update it.
    pub(super) fn renew(&mut self, machine: Machine) {
        let known = self.machines.get(&machine.key());
        if known.is_some_and(|known| known.uid == machine.uid) {
            self.put(machine);
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        let Some(old) = self.machines.remove(key) else {
            return;
        };
        if let Some(node) = &old.node {
            drop_from(
                &mut self.by_node,
                &old.cluster_key(),
                // A Machine that replaced this one may already have the Node.
                |nodes| nodes.get(node) == Some(key) && nodes.remove(node).is_some(),
                HashMap::is_empty,
            );
        }
        self.work.remove(&old);
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

    /// The Machines of a set, without this one.
    pub(super) fn others<'a>(
        &'a self,
        set: Option<&'a BTreeSet<Key>>,
        but: &'a Key,
    ) -> impl Iterator<Item = Arc<Machine>> + 'a {
        let keys = set.into_iter().flatten().filter(move |key| *key != but);
        keys.filter_map(|key| self.machines.get(key).cloned())
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

/// Removes an item from a set in a map, and the set from the map when it is empty.
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
