//! Where Machines and owners are kept, with the ways they are looked up by.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::group::{Group, GroupKind};
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

/// What matters of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Nobody is to work on it.
    pub paused: bool,
    /// Value of [`crate::names::NEVER_REPLACE`].
    pub never_replace: Option<String>,
    /// The name of the object that owns its control plane's Machines; empty where there is none.
    pub control_plane: String,
}

/// What matters of a KubeadmControlPlane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlaneFacts {
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
    /// Its Cluster's name.
    pub cluster: String,
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
    deployments_synced: bool,
    control_planes: HashMap<Key, ControlPlaneFacts>,
    control_planes_synced: bool,
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

    fn of_deployment(&self, deployment: &Key, cluster: &str) -> Vec<Key> {
        let group = Group {
            cluster: Key::new(Arc::clone(&deployment.namespace), cluster),
            kind: GroupKind::Deployment(deployment.name.to_string()),
        };
        let members = self.by_group.get(&group);
        members.into_iter().flatten().cloned().collect()
    }

    fn of_control_plane(&self, owner: &Key) -> Vec<Key> {
        let owned = |(cluster, facts): &(&Key, &ClusterFacts)| {
            cluster.namespace == owner.namespace && *facts.control_plane == *owner.name
        };
        let clusters = self.clusters.iter().filter(owned);
        let groups = clusters.filter_map(|(cluster, _)| {
            self.by_group.get(&Group {
                cluster: cluster.clone(),
                kind: GroupKind::ControlPlane,
            })
        });
        groups.flatten().cloned().collect()
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
        self.read(|state| {
            let owners = state.deployments_synced && state.control_planes_synced;
            state.synced && state.clusters_synced && owners
        })
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

    /// Takes all MachineDeployments in; returns the Machines that may have to do with them.
    pub fn replace_deployments(&self, all: Vec<(Key, DeploymentFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.deployments = all.into_iter().collect();
            state.deployments_synced = true;
            state.machines.keys().cloned().collect()
        })
    }

    /// Takes a MachineDeployment in; returns its Machines if it has changed.
    pub fn put_deployment(&self, (key, facts): (Key, DeploymentFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.deployments.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_deployment(&key, &facts.cluster)
        })
    }

    /// Forgets a MachineDeployment.
    pub fn remove_deployment(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            let old = state.deployments.remove(key);
            old.map_or_else(Vec::new, |old| state.of_deployment(key, &old.cluster))
        })
    }

    /// Takes all KubeadmControlPlanes in; returns the Machines that may have to do with them.
    pub fn replace_control_planes(&self, all: Vec<(Key, ControlPlaneFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.control_planes = all.into_iter().collect();
            state.control_planes_synced = true;
            let owners: Vec<Key> = state.control_planes.keys().cloned().collect();
            let machines = owners.iter().map(|owner| state.of_control_plane(owner));
            machines.flatten().collect()
        })
    }

    /// There are no KubeadmControlPlanes to be seen: that kind may not be installed.
    pub fn no_control_planes(&self) {
        self.write(|state| state.control_planes_synced = true);
    }

    /// Takes a KubeadmControlPlane in; returns its Machines if it has changed.
    pub fn put_control_plane(&self, (key, facts): (Key, ControlPlaneFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.control_planes.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_control_plane(&key)
        })
    }

    /// Forgets a KubeadmControlPlane.
    pub fn remove_control_plane(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            state.control_planes.remove(key);
            state.of_control_plane(key)
        })
    }

    /// The KubeadmControlPlane of a Cluster.
    #[must_use]
    pub fn owner_of_control_plane(&self, cluster: &Key) -> Option<(Key, ControlPlaneFacts)> {
        self.read(|state| {
            let name = state.clusters.get(cluster)?.control_plane.as_str();
            let key = Key::new(Arc::clone(&cluster.namespace), name);
            let facts = state.control_planes.get(&key)?.clone();
            Some((key, facts))
        })
    }

    /// A MachineDeployment.
    #[must_use]
    pub fn deployment(&self, key: &Key) -> Option<DeploymentFacts> {
        self.read(|state| state.deployments.get(key).cloned())
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

    #[test]
    fn a_deployment_that_is_paused_has_its_machines_looked_at() {
        let machines = Machines::default();
        machines.replace(vec![machine("m", "1")]);
        let facts = DeploymentFacts {
            cluster: "c".into(),
            ..DeploymentFacts::default()
        };
        let key = Key::new("t", "w");
        machines.replace_deployments(vec![(key.clone(), facts.clone())]);
        let woken = machines.put_deployment((key.clone(), facts.clone()));
        assert!(woken.is_empty(), "nothing has changed");
        let paused = DeploymentFacts {
            paused: true,
            ..facts
        };
        assert_eq!(machines.put_deployment((key, paused)), [Key::new("t", "m")]);
    }

    #[test]
    fn a_control_plane_that_is_paused_has_its_machines_looked_at() {
        let machines = Machines::default();
        let cluster = ClusterFacts {
            control_plane: "owner".into(),
            ..ClusterFacts::default()
        };
        machines.replace_clusters(vec![(Key::new("t", "c"), cluster)]);
        let machine = Machine {
            control_plane: true,
            ..machine("m", "1")
        };
        machines.replace(vec![machine]);
        let paused = ControlPlaneFacts {
            paused: true,
            ..ControlPlaneFacts::default()
        };
        let owner = Key::new("t", "owner");
        let woken = machines.put_control_plane((owner.clone(), paused.clone()));
        assert_eq!(woken, [Key::new("t", "m")]);
        assert_eq!(
            machines.owner_of_control_plane(&Key::new("t", "c")),
            Some((owner, paused))
        );
    }

    #[test]
    fn not_everything_is_seen_before_the_deployments_are_which_may_forbid_replacing() {
        let machines = Machines::default();
        machines.replace(Vec::new());
        machines.replace_clusters(Vec::new());
        assert!(!machines.synced());
        machines.replace_deployments(Vec::new());
        machines.no_control_planes();
        assert!(machines.synced());
    }
}
