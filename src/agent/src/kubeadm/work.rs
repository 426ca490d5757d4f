//! What `kubeadm upgrade node` has to do on a node.

use upgrade::Upgrade;

/// Which part of `kubeadm upgrade node` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// All of it, which on a worker is the kubelet's configuration.
    Node,
    /// The kubelet's configuration alone: careen-control has raised the static pods before the
    /// reboot, and a system that falls back needs them as they are.
    KubeletConfig,
}

impl Work {
    /// The work for the node of this upgrade.
    #[must_use]
    pub const fn of(upgrade: &Upgrade) -> Self {
        match upgrade.control {
            None => Self::Node,
            Some(_) => Self::KubeletConfig,
        }
    }
}
