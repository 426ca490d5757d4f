//! Machines with the ways they are looked up by.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::group::Group;
use super::key::Key;
use super::owners::Owners;
use crate::engine::Machine;
use crate::watch::is_older;

#[derive(Default)]
pub(super) struct State {
    pub(super) synced: bool,
    pub(super) machines: HashMap<Key, Arc<Machine>>,
    pub(super) by_node: HashMap<Key, HashMap<String, Key>>,
    pub(super) by_group: HashMap<Group, BTreeSet<Key>>,
    /// Those of a group that are marked: they work.
    pub(super) marked: HashMap<Group, BTreeSet<Key>>,
    by_cluster: HashMap<Key, HashSet<Key>>,
    /// Since when Machines are seen without a break, and since when they are not.
    pub(super) seen: i64,
    pub(super) lost: Option<i64>,
    pub(super) owners: Owners,
}

impl State {
    /// What is older than what is known is passed over: our own writes answer before the watch.
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
            of_cluster.insert(node.clone(), key.clone());
        }
        self.by_group
            .entry(machine.group())
            .or_default()
            .insert(key.clone());
        if machine.mark.is_some() {
            let of_group = self.marked.entry(machine.group()).or_default();
            of_group.insert(key.clone());
        }
        self.by_cluster
            .entry(machine.cluster_key())
            .or_default()
            .insert(key.clone());
        self.machines.insert(key.clone(), Arc::new(machine));
        key
    }

    /// Takes in what a write of ours has answered. That may come behind the news that the Machine is gone, or that another has its name:
    /// no news would ever come of one that were kept then.
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
                // A Machine that took the place of this one may have the Node by now.
                |nodes| nodes.get(node) == Some(key) && nodes.remove(node).is_some(),
                HashMap::is_empty,
            );
        }
        for sets in [&mut self.by_group, &mut self.marked] {
            drop_from(
                sets,
                &old.group(),
                |set| set.remove(key),
                BTreeSet::is_empty,
            );
        }
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
