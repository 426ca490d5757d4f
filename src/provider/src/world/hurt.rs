//! Hurt members of control planes.

use std::sync::Arc;

use super::World;
use crate::clusters::ClusterState;
use crate::engine::{Machine, Other};
use crate::machines::{Group, GroupKind, Key};

impl World {
    /// Another member of this group, if it is a control plane, whose upgrade has halted, no matter
    /// who asked for it. A Machine that a person left out does not count.
    #[must_use]
    pub fn hurt(&self, group: &Group, but: &Key, cluster: &ClusterState) -> Option<Other> {
        match group.kind {
            GroupKind::ControlPlane => {}
            GroupKind::Deployment(_) | GroupKind::Alone(_) => return None,
        }
        let members = self.machines.in_group(group);
        let mut others = members
            .iter()
            .filter(|other| other.key() != *but && !other.left_out);
        let is_hurt = |other: &&Arc<Machine>| {
            let node = other.node.as_deref().and_then(|node| cluster.node(node));
            node.is_some_and(|node| other.owns(&node) && node.is_halted())
        };
        others.find(is_hurt).map(|other| Other::of(other))
    }
}
