//! The static pods of a control plane.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One static pod that kubeadm writes a manifest for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Component {
    /// The member of a stacked etcd.
    #[serde(rename = "etcd")]
    Etcd,
    /// The API server.
    #[serde(rename = "kube-apiserver")]
    ApiServer,
    /// The controller manager.
    #[serde(rename = "kube-controller-manager")]
    ControllerManager,
    /// The scheduler.
    #[serde(rename = "kube-scheduler")]
    Scheduler,
}

impl Component {
    /// All of them, in the order in which kubeadm changes them.
    pub const ALL: [Self; 4] = [
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
    ];

    /// Those that have Kubernetes' own version.
    pub const KUBERNETES: [Self; 3] = [Self::ApiServer, Self::ControllerManager, Self::Scheduler];

    /// Its name: of its manifest, its container and its program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }

    /// The component of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_has_one_name_everywhere() {
        for component in Component::ALL {
            assert_eq!(Component::named(component.name()), Some(component));
            let wire = serde_json::to_value(component).unwrap();
            assert_eq!(wire, component.name());
        }
        assert_eq!(Component::named("coredns"), None);
    }
}
