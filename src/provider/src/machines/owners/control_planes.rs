//! KubeadmControlPlanes.

use std::sync::Arc;

use super::super::group::{Group, GroupKind};
use super::super::key::Key;
use super::super::state::State;
use super::super::store::Machines;
use super::facts::{ClusterFacts, ControlPlaneFacts};

impl State {
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
    /// Replaces all KubeadmControlPlanes. Returns the Machines that may belong to them.
    pub fn replace_control_planes(&self, all: Vec<(Key, ControlPlaneFacts)>) -> Vec<Key> {
        self.write(|state| {
            state.owners.control_planes = all.into_iter().collect();
            state.owners.control_planes_synced = true;
            let owners: Vec<Key> = state.owners.control_planes.keys().cloned().collect();
            let machines = owners.iter().map(|owner| state.of_control_plane(owner));
            machines.flatten().collect()
        })
    }

    /// No KubeadmControlPlanes are visible. That kind may not be installed.
    pub fn no_control_planes(&self) {
        self.write(|state| state.owners.control_planes_synced = true);
    }

    /// Stores a KubeadmControlPlane. Returns its Machines if it changed.
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

    /// Removes a KubeadmControlPlane.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Machine;

    #[test]
    fn a_control_plane_that_is_paused_has_its_machines_looked_at() {
        let machines = Machines::default();
        let cluster = ClusterFacts {
            control_plane: "owner".into(),
            ..ClusterFacts::default()
        };
        machines.replace_clusters(vec![(Key::new("t", "c"), cluster)]);
        let machine = Machine {
            namespace: "t".into(),
            name: "m".into(),
            cluster: "c".into(),
            control_plane: true,
            ..Machine::default()
        };
        machines.replace(vec![machine]);
        let paused = ControlPlaneFacts {
            paused: true,
            looks_paused: None,
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
}
