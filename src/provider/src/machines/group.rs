//! The group and the Cluster that a Machine belongs to.

use std::fmt;

use super::key::Key;
use crate::engine::Machine;

impl Machine {
    /// Its own key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(self.namespace.as_str(), self.name.as_str())
    }

    /// Its Cluster's key.
    #[must_use]
    pub fn cluster_key(&self) -> Key {
        Key::new(self.namespace.as_str(), self.cluster.as_str())
    }

    /// The group that takes turns: the control plane, the MachineDeployment, or only this Machine.
    #[must_use]
    pub fn group(&self) -> Group {
        let kind = match (&self.deployment, self.control_plane) {
            (_, true) => GroupKind::ControlPlane,
            (Some(deployment), false) => GroupKind::Deployment(deployment.clone()),
            (None, false) => GroupKind::Alone(self.name.clone()),
        };
        Group {
            cluster: self.cluster_key(),
            kind,
        }
    }
}

/// Machines that take turns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Their Cluster.
    pub cluster: Key,
    /// Which of the Cluster's Machines.
    pub kind: GroupKind,
}

/// Which Machines of a Cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupKind {
    /// Those of the control plane.
    ControlPlane,
    /// Those of one MachineDeployment.
    Deployment(String),
    /// One that belongs to neither.
    Alone(String),
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            GroupKind::ControlPlane => write!(f, "the control plane of {}", self.cluster.name),
            GroupKind::Deployment(name) => write!(f, "MachineDeployment {name}"),
            GroupKind::Alone(name) => write!(f, "Machine {name}"),
        }
    }
}
