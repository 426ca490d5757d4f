//! What a trial compares with the node as it was before the drain.

use serde::{Deserialize, Serialize};

use super::demand::Demand;

/// What a trial compares with the node as it was before the drain, and what follows from a
/// difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Serving {
    /// Pods of DaemonSets and static pods that were Ready, and the rules of kube-proxy.
    pub pods: Demand,
    /// Resources of device plugins, huge pages, handlers of the container runtime and their
    /// features, and drivers of dynamic resource allocation.
    pub resources: Demand,
    /// CSI drivers that were registered.
    pub drivers: Demand,
    /// Processors, memory, disk and the number of pods.
    pub capacity: Demand,
    /// Conditions that keep pods off the node.
    pub conditions: Demand,
    /// All other conditions of the Node.
    pub other_conditions: Demand,
    /// Labels of the Node that are gone.
    pub labels: Demand,
    /// The Node's addresses.
    pub addresses: Demand,
    /// Units of systemd that fail.
    pub units: Demand,
    /// Mounts and swaps that were active.
    pub mounts: Demand,
    /// Enabled services that ran.
    pub services: Demand,
    /// What the kernel and the system have for pods.
    pub system: Demand,
    /// What is not compared.
    pub except: Vec<String>,
}

impl Default for Serving {
    /// Strict where pods do not run without it.
    fn default() -> Self {
        Self {
            pods: Demand::Require,
            resources: Demand::Require,
            drivers: Demand::Require,
            capacity: Demand::Warn,
            conditions: Demand::Require,
            other_conditions: Demand::Warn,
            labels: Demand::Warn,
            addresses: Demand::Require,
            units: Demand::Require,
            mounts: Demand::Require,
            services: Demand::Warn,
            system: Demand::Require,
            except: Vec::new(),
        }
    }
}

impl Serving {
    /// Whether the operator leaves this out.
    #[must_use]
    pub fn excepts(&self, key: &str) -> bool {
        let key = key.replacen("gone:", "pod:", 1);
        self.except.iter().any(|one| match one.strip_suffix('*') {
            Some(start) => key.starts_with(start),
            None => key == *one,
        })
    }
}
