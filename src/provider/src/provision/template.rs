//! One look at a CareenMachineTemplate: what its hosts have at least.

use infrastructure::{Wished, expected};
use kube::api::Api;
use serde_json::json;

use super::work::Provision;
use crate::kinds::{CareenMachineTemplate, CareenMachineTemplateStatus, NodeInfo};
use crate::machines::Key;
use crate::writes::{WriteError, provision as write};

/// All hosts run Linux.
const LINUX: &str = "linux";

impl Provision {
    /// Looks at one template.
    pub(super) async fn look_at_template(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        let all: Api<CareenMachineTemplate> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(object) = write::read(&all, &key.name).await? else {
            return Ok(None);
        };
        let status = self.status_of_template(key, &object);
        let is_gone = object.metadata.deletion_timestamp.is_some();
        if is_gone || object.status.clone().unwrap_or_default() == status {
            return Ok(None);
        }
        let mut change = json!({ "capacity": null, "nodeInfo": status.node_info });
        if !status.capacity.is_empty() {
            let before = object.status.clone().unwrap_or_default().capacity;
            let dropped = before
                .keys()
                .filter(|name| !status.capacity.contains_key(*name));
            change["capacity"] = json!(status.capacity);
            for name in dropped {
                change["capacity"][name] = json!(null);
            }
        }
        write::change_status(&self.client, &object, change).await?;
        Ok(None)
    }

    fn status_of_template(
        &self,
        key: &Key,
        object: &CareenMachineTemplate,
    ) -> CareenMachineTemplateStatus {
        let spec = &object.spec.template.spec;
        let wished = Wished {
            selector: spec.host_selector.clone().unwrap_or_default(),
            host_name: spec.host_name.clone(),
            minimum: spec.minimum.clone(),
        };
        let found = self
            .inventory
            .look(&key.namespace, |hosts| expected(&wished, hosts));
        let found = found.unwrap_or_default();
        CareenMachineTemplateStatus {
            capacity: found.capacity,
            node_info: found.architecture.map(|architecture| NodeInfo {
                architecture,
                operating_system: LINUX.to_owned(),
            }),
        }
    }
}
