//! Who owns Machines: Clusters, MachineDeployments and KubeadmControlPlanes, and which Machines are looked at anew when one changes.

use std::collections::HashMap;
use std::sync::Arc;

use super::group::{Group, GroupKind};
use super::store::{Key, Machines, State};

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

/// All owners that are known.
#[derive(Default)]
pub(super) struct Owners {
    clusters: HashMap<Key, ClusterFacts>,
    clusters_synced: bool,
    deployments: HashMap<Key, DeploymentFacts>,
    deployments_synced: bool,
    control_planes: HashMap<Key, ControlPlaneFacts>,
    control_planes_synced: bool,
}

impl Owners {
    /// Whether all kinds were listed once.
    pub(super) const fn synced(&self) -> bool {
        self.clusters_synced && self.deployments_synced && self.control_planes_synced
    }
}

impl State {
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
        let clusters = self.owners.clusters.iter().filter(owned);
        let groups = clusters.filter_map(|(cluster, _)| {
            self.by_group.get(&Group {
                cluster: cluster.clone(),
                kind: GroupKind::ControlPlane,
            })
        });
        groups.flatten().cloned().collect()
    }
}

impl Machines {
    /// Takes all Clusters in; returns the Machines whose Cluster has changed.
    pub fn replace_clusters(&self, all: Vec<(Key, ClusterFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.owners.clusters = all.into_iter().collect();
            state.owners.clusters_synced = true;
            state.machines.keys().cloned().collect()
        })
    }

    /// Takes a Cluster in; returns its Machines if it has changed.
    pub fn put_cluster(&self, (key, facts): (Key, ClusterFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.owners.clusters.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_cluster(&key)
        })
    }

    /// Forgets a Cluster.
    pub fn remove_cluster(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            state.owners.clusters.remove(key);
            state.of_cluster(key)
        })
    }

    /// The Clusters.
    #[must_use]
    pub fn clusters(&self) -> Vec<Key> {
        self.read(|state| state.owners.clusters.keys().cloned().collect())
    }

    /// A Cluster.
    #[must_use]
    pub fn cluster(&self, key: &Key) -> Option<ClusterFacts> {
        self.read(|state| state.owners.clusters.get(key).cloned())
    }

    /// Takes all MachineDeployments in; returns the Machines that may have to do with them.
    pub fn replace_deployments(&self, all: Vec<(Key, DeploymentFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.owners.deployments = all.into_iter().collect();
            state.owners.deployments_synced = true;
            state.machines.keys().cloned().collect()
        })
    }

    /// Takes a MachineDeployment in; returns its Machines if it has changed.
    pub fn put_deployment(&self, (key, facts): (Key, DeploymentFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state.owners.deployments.insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_deployment(&key, &facts.cluster)
        })
    }

    /// Forgets a MachineDeployment.
    pub fn remove_deployment(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            let old = state.owners.deployments.remove(key);
            old.map_or_else(Vec::new, |old| state.of_deployment(key, &old.cluster))
        })
    }

    /// Takes all KubeadmControlPlanes in; returns the Machines that may have to do with them.
    pub fn replace_control_planes(&self, all: Vec<(Key, ControlPlaneFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.owners.control_planes = all.into_iter().collect();
            state.owners.control_planes_synced = true;
            let owners: Vec<Key> = state.owners.control_planes.keys().cloned().collect();
            let machines = owners.iter().map(|owner| state.of_control_plane(owner));
            machines.flatten().collect()
        })
    }

    /// There are no KubeadmControlPlanes to be seen: that kind may not be installed.
    pub fn no_control_planes(&self) {
        self.write(|state| state.owners.control_planes_synced = true);
    }

    /// Takes a KubeadmControlPlane in; returns its Machines if it has changed.
    pub fn put_control_plane(&self, (key, facts): (Key, ControlPlaneFacts)) -> Vec<Key> {
        self.write(|state| {
            let old = state
                .owners
                .control_planes
                .insert(key.clone(), facts.clone());
            if old.as_ref() == Some(&facts) {
                return Vec::new();
            }
            state.of_control_plane(&key)
        })
    }

    /// Forgets a KubeadmControlPlane.
    pub fn remove_control_plane(&self, key: &Key) -> Vec<Key> {
        self.write(|state| {
            state.owners.control_planes.remove(key);
            state.of_control_plane(key)
        })
    }

    /// The KubeadmControlPlane of a Cluster.
    #[must_use]
    pub fn owner_of_control_plane(&self, cluster: &Key) -> Option<(Key, ControlPlaneFacts)> {
        self.read(|state| {
            let name = state.owners.clusters.get(cluster)?.control_plane.as_str();
            let key = Key::new(Arc::clone(&cluster.namespace), name);
            let facts = state.owners.control_planes.get(&key)?.clone();
            Some((key, facts))
        })
    }

    /// A MachineDeployment.
    #[must_use]
    pub fn deployment(&self, key: &Key) -> Option<DeploymentFacts> {
        self.read(|state| state.owners.deployments.get(key).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Machine;

    fn machine(name: &str) -> Machine {
        Machine {
            namespace: "t".into(),
            name: name.into(),
            cluster: "c".into(),
            deployment: Some("w".into()),
            ..Machine::default()
        }
    }

    #[test]
    fn a_deployment_that_is_paused_has_its_machines_looked_at() {
        let machines = Machines::default();
        machines.replace(vec![machine("m")]);
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
            ..machine("m")
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
