//! Where Machines and owners are kept, with the ways they are looked up by.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::group::{Group, GroupKind};
use crate::engine::Machine;

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

/// What matters of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Nobody is to work on it.
    pub paused: bool,
    /// Value of [`crate::names::NEVER_REPLACE`].
    pub never_replace: Option<String>,
}

/// What matters of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentFacts {
    /// Its UID.
    pub uid: String,
    /// How many of its Machines may be away at once.
    pub max_unavailable: usize,
    /// Nobody is to work on it.
    pub paused: bool,
    /// Value of [`crate::names::NEVER_REPLACE`].
    pub never_replace: Option<String>,
}

/// The store; clones are the same store.
#[derive(Clone, Default)]
pub struct Machines(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    synced: bool,
    machines: HashMap<Key, Arc<Machine>>,
    by_node: HashMap<Key, HashMap<String, Key>>,
    by_group: HashMap<Group, BTreeSet<Key>>,
    by_cluster: HashMap<Key, HashSet<Key>>,
    clusters: HashMap<Key, ClusterFacts>,
    clusters_synced: bool,
    deployments: HashMap<Key, DeploymentFacts>,
}

impl State {
    fn put(&mut self, machine: Machine) -> Key {
        let key = machine.key();
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
                |nodes| nodes.remove(node).is_some(),
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

    fn of_cluster(&self, cluster: &Key) -> Vec<Key> {
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
    fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
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
        self.read(|state| state.synced && state.clusters_synced)
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

    /// Takes all Clusters in; returns the Machines whose Cluster has changed.
    pub fn replace_clusters(&self, all: Vec<(Key, ClusterFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.clusters = all.into_iter().collect();
            state.clusters_synced = true;
            state.machines.keys().cloned().collect()
        })
    }

    /// Takes a Cluster in; returns its Machines if it has changed.
    pub fn put_cluster(&self, (key, facts): (Key, ClusterFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.clusters.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_cluster(&key)
        })
    }

    /// Forgets a Cluster.
    pub fn remove_cluster(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            state.clusters.remove(key);
            state.of_cluster(key)
        })
    }

    /// The Clusters.
    #[must_use]
    pub fn clusters(&self) -> Vec<Key> {
        self.read(|state| state.clusters.keys().cloned().collect())
    }

    /// A Cluster.
    #[must_use]
    pub fn cluster(&self, key: &Key) -> Option<ClusterFacts> {
        self.read(|state| state.clusters.get(key).cloned())
    }

    /// Takes all MachineDeployments in.
    pub fn replace_deployments(&self, all: Vec<(Key, DeploymentFacts)>) {
        self.write(|state| state.deployments = all.into_iter().collect());
    }

    /// Takes a MachineDeployment in.
    pub fn put_deployment(&self, (key, facts): (Key, DeploymentFacts)) {
        self.write(|state| state.deployments.insert(key, facts));
    }

    /// Forgets a MachineDeployment.
    pub fn remove_deployment(&self, key: &Key) {
        self.write(|state| state.deployments.remove(key));
    }

    /// A MachineDeployment.
    #[must_use]
    pub fn deployment(&self, key: &Key) -> Option<DeploymentFacts> {
        self.read(|state| state.deployments.get(key).cloned())
    }
}
