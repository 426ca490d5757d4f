//! The owners of Machines: Clusters, MachineDeployments and KubeadmControlPlanes. When one changes,
//! its Machines are processed again.

mod clusters;
mod control_planes;
mod deployments;
mod facts;

use std::collections::HashMap;

use super::key::Key;
pub use facts::{ClusterFacts, ControlPlaneFacts, DeploymentFacts};

/// All known owners.
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

#[cfg(test)]
mod tests {
    use crate::machines::Machines;

    #[test]
    fn machines_are_not_synced_before_deployments_are_listed() {
        let machines = Machines::default();
        machines.replace(Vec::new());
        machines.replace_clusters(Vec::new());
        assert!(!machines.synced());
        machines.replace_deployments(Vec::new());
        machines.no_control_planes();
        assert!(machines.synced());
    }
}
