//! One look at a CareenMachineTemplate: what its hosts have at least.

use std::collections::BTreeMap;

use infrastructure::{Wished, expected};
use serde_json::{Value, json};

use super::work::Provision;
use crate::kinds::{CareenMachineTemplate, MachineRequest, NodeInfo};
use crate::machines::Key;
use crate::writes::{WriteError, provision as write};

/// All hosts run Linux.
const LINUX: &str = "linux";

/// The least of each resource that a matching host has, and the system of the hosts.
pub type Capacity = (BTreeMap<String, String>, Option<NodeInfo>);

impl Provision {
    /// Looks at one template.
    pub(super) async fn look_at_template(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        let read = self.read(&key.namespace, &key.name).await?;
        let Some::<CareenMachineTemplate>(object) = read else {
            return Ok(None);
        };
        let new = self.capacity_of(&key.namespace, &object.spec.template.spec);
        let is_gone = object.metadata.deletion_timestamp.is_some();
        let status = object.status.clone().unwrap_or_default();
        let change = capacity_change((&status.capacity, &status.node_info), &new);
        if let Some(change) = change.filter(|_| !is_gone) {
            write::change_status(&self.client, &object, change).await?;
        }
        Ok(None)
    }

    /// What each machine of this request has at least.
    pub(super) fn capacity_of(&self, space: &str, request: &MachineRequest) -> Capacity {
        let wished = Wished {
            selector: request.host_selector.clone().unwrap_or_default(),
            host_name: request.host_name.clone(),
            minimum: request.minimum.clone(),
        };
        let found = self
            .inventory
            .look(space, |hosts| expected(&wished, hosts))
            .unwrap_or_default();
        let system = found.architecture.map(|architecture| NodeInfo {
            architecture,
            operating_system: LINUX.to_owned(),
        });
        (found.capacity, system)
    }
}

/// The change of a status, unless it says so already. A merge would keep what hosts have no more.
pub fn capacity_change(
    (before, system): (&BTreeMap<String, String>, &Option<NodeInfo>),
    new: &Capacity,
) -> Option<Value> {
    let (capacity, new_system) = new;
    if (before, system) == (capacity, new_system) {
        return None;
    }
    let mut change = json!({ "capacity": null, "nodeInfo": new_system });
    if !capacity.is_empty() {
        change["capacity"] = json!(capacity);
        for name in before.keys().filter(|name| !capacity.contains_key(*name)) {
            change["capacity"][name] = json!(null);
        }
    }
    Some(change)
}
