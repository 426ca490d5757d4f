//! What there is around a Machine: who is paused, how many of its group work, how old its cluster is.

use std::sync::Arc;

use super::World;
use crate::clusters::ClusterState;
use crate::engine::{ControlPlane, Machine, Why, skew};
use crate::machines::{Group, GroupKind, Key};

impl World {
    /// Somebody said stop: it is deleted, or it or an owner is paused.
    #[must_use]
    pub fn is_stopped(&self, machine: &Machine) -> bool {
        machine.deleting || self.paused(machine).is_some()
    }

    pub(super) fn paused(&self, machine: &Machine) -> Option<String> {
        if machine.paused {
            return Some(format!("Machine {}", machine.name));
        }
        let cluster = machine.cluster_key();
        if self
            .machines
            .cluster(&cluster)
            .is_some_and(|facts| facts.paused)
        {
            return Some(format!("Cluster {}", cluster.name));
        }
        if machine.control_plane {
            let (owner, facts) = self.machines.owner_of_control_plane(&cluster)?;
            return facts
                .paused
                .then(|| format!("KubeadmControlPlane {}", owner.name));
        }
        let deployment = self.deployment(machine)?;
        let paused = self
            .machines
            .deployment(&deployment)
            .is_some_and(|facts| facts.paused);
        paused.then(|| format!("MachineDeployment {}", deployment.name))
    }

    fn deployment(&self, machine: &Machine) -> Option<Key> {
        let name = machine.deployment.as_deref()?;
        Some(Key::new(machine.namespace.as_str(), name))
    }

    pub(super) fn control_plane(&self, machine: &Machine, cluster: &ClusterState) -> ControlPlane {
        let pods = machine.node.as_ref().map(|node| cluster.pods_of(node));
        ControlPlane {
            oldest: self.oldest(&machine.cluster_key(), cluster),
            pods: pods.unwrap_or_default(),
        }
    }

    /// The oldest version that may serve the cluster's API.
    #[must_use]
    pub fn oldest(&self, key: &Key, cluster: &ClusterState) -> Option<upgrade::Version> {
        let machines = self.machines.control_plane_of(key);
        cluster.oldest(nodes_of(&machines))
    }

    /// Where nothing but the API server's own word on its version holds somebody, it is asked for it anew: that may have been before its control
    /// plane was upgraded, and one whose Nodes are not to be seen shows nothing of that.
    pub fn doubt(&self, key: &Key, cluster: &ClusterState, why: &Why) {
        let held_by_nodes = match why {
            Why::AheadOfControlPlane { wanted, .. } => {
                let machines = self.machines.control_plane_of(key);
                let nodes = ControlPlane {
                    oldest: cluster.oldest_node(nodes_of(&machines)),
                    pods: Vec::new(),
                };
                nodes.oldest.is_some() && skew(&key.name, wanted, &nodes).is_err()
            }
            Why::ControlPlaneUnknown { .. } => false,
            _ => return,
        };
        if !held_by_nodes {
            cluster.doubt();
        }
    }

    /// How many nodes are cordoned while they work for us.
    #[must_use]
    pub fn cordoned(&self) -> u32 {
        let marked = self.machines.all();
        let nodes = marked
            .iter()
            .filter(|machine| machine.mark.is_some())
            .filter_map(|machine| {
                let cluster = self.clusters.get(&machine.cluster_key());
                cluster.node(machine.node.as_deref()?)
            });
        u32::try_from(nodes.filter(|node| node.cordoned).count()).unwrap_or(u32::MAX)
    }

    /// How many others of the group work. Who is marked works, also where its node says that it has come to its end: it is not back
    /// before that is seen.
    pub(super) fn working(&self, machine: &Machine, group: &Group) -> usize {
        self.machines.others_at_work(group, &machine.key())
    }

    /// How many others that were asked for by annotation have failed and stand still with that. Where core asks it counts them itself.
    pub(super) fn failed(&self, machine: &Machine, group: &Group, cluster: &ClusterState) -> usize {
        let by_annotation = |one: &Machine| one.asked && !one.in_progress && !one.deleting;
        if !by_annotation(machine) {
            return 0;
        }
        let members = self.machines.in_group(group);
        let others = members
            .iter()
            .filter(|other| other.name != machine.name && by_annotation(other));
        let nodes = others.filter_map(|other| cluster.node(other.node.as_deref()?));
        nodes.filter(|node| node.has_failed()).count()
    }

    /// One at a time where nobody says more. Core has a budget of its own; this one holds for both roads.
    pub(super) fn allowed(&self, group: &Group) -> usize {
        match &group.kind {
            GroupKind::ControlPlane | GroupKind::Alone(_) => 1,
            GroupKind::Deployment(name) => {
                let key = Key::new(Arc::clone(&group.cluster.namespace), name.as_str());
                let facts = self.machines.deployment(&key);
                facts.map_or(1, |facts| facts.max_unavailable.max(1))
            }
        }
    }
}

fn nodes_of(machines: &[Arc<Machine>]) -> impl Iterator<Item = &str> {
    machines
        .iter()
        .filter_map(|machine| machine.node.as_deref())
}
