//! How a node serves: what it offers to its pods, and which of the pods that belong to it run.
//!
//! The agent notes this before the drain. In the trial it looks again, and [`lacks`] compares.
//! `Ready` alone does not show that a pod can start: the kubelet reports Ready when the runtime
//! answers and a network configuration is on the disk.

mod compare;
mod join;
mod kernel;
mod lack;
mod limits;
mod offer;
mod quantity;
mod renew;
mod settings;
mod system;
mod units;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use compare::lacks;
pub use kernel::{FILE_SYSTEM, MODULE, unsupported};
pub use lack::Lack;
pub use limits::{AMOUNTS, LIMIT, Limits, OPEN_FILES, shrunk};
pub use offer::{ImageId, NodePod, Offer, Owner, Unready};
pub use renew::{are_renewed, renewed};
pub use settings::{FILTERS, MOUNT, NO_PACKET_FILTER, SWITCHES, SYSCTL, unset};
pub use system::{APPARMOR, CERTIFICATES, CGROUP, RESOLVER, SELINUX, absent};
pub use units::{Down, Units, failed, inactive};

/// How a node serves, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// What the API server has of this node. `None` if the agent has not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Offer>,
    /// What systemd says of its units. `None` if the agent has not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<Units>,
    /// What the kernel and the system have for pods. `None` if the agent has not looked, and in a
    /// note of an older agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<BTreeSet<String>>,
    /// What the system sets and brings for the network and the volumes of pods. `None` as for
    /// `system`. An older agent would take a name that it does not know there for one that is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<BTreeSet<String>>,
    /// What a container gets at most. `None` as for `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Before the drain: file systems of volumes and modules of the kernel that are in use. In the
    /// trial: those of them that the kernel has or can load. `None` as for `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<BTreeSet<String>>,
    /// A pod sandbox got an address. Some network plugins ask the API server for the pod, and
    /// give none to a sandbox without one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pod_network: bool,
    /// The runtime's words where a pod sandbox started and got no address. `None` if it got one or
    /// was not asked for, and in a note of an older agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_refusal: Option<String>,
    /// The runtime of the old system started no pod sandbox, and the policy did not demand one.
    /// Then the new one need not. An older agent notes it also where the policy demands one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_sandbox: bool,
    /// For how many seconds this system booted. `None` if its boot was not over, and in a note of
    /// an older agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_seconds: Option<u64>,
}

impl Serving {
    /// For how many seconds the system came up: its boot, or the start of its slowest own pod.
    /// `None` if neither was measured.
    #[must_use]
    pub fn came_up_in(&self) -> Option<u64> {
        let pods = self.node.iter().flat_map(|node| &node.pods);
        let slowest = pods.filter_map(|pod| pod.ready_seconds).max();
        self.boot_seconds.max(slowest)
    }

    /// Whether nothing is known.
    #[must_use]
    pub const fn is_blank(&self) -> bool {
        self.node.is_none()
            && self.units.is_none()
            && self.system.is_none()
            && self.settings.is_none()
            && self.limits.is_none()
            && self.kernel.is_none()
            && !self.pod_network
            && self.network_refusal.is_none()
            && !self.no_sandbox
            && self.boot_seconds.is_none()
    }
}
