//! What a machine shows.

use infrastructure::{Decision, words};
use serde_json::{Value, json};

use super::super::conditions::conditions;
use super::super::work::Provision;
use super::read::Read;
use crate::kinds::{Address, CareenMachineStatus, ShownHost};
use crate::writes::{WriteError, provision as write};

/// The addresses of a provisioned machine. After `clusterctl move` its host is heard later.
fn addresses(read: &Read, status: &CareenMachineStatus) -> Vec<Address> {
    let host = read.host.as_ref().and_then(|host| host.status.clone());
    let said = host.map(|host| host.addresses).unwrap_or_default();
    if read.machine.provisioned && !said.is_empty() {
        return said;
    }
    status.addresses.clone()
}

impl Provision {
    /// Writes the conditions, and what is shown of the host, if they differ.
    pub(super) async fn report_machine(
        &self,
        read: &Read,
        decision: &Decision,
    ) -> Result<(), WriteError> {
        let status = read.object.status.clone().unwrap_or_default();
        let said = words(&read.machine, read.seen.as_ref(), decision);
        let new = conditions(
            &status.conditions,
            &said,
            (decision.why.code(), &decision.why.to_string()),
        );
        let shown = read.seen.as_ref().map(|host| ShownHost {
            name: host.name.clone(),
            phase: host.phase,
            image: host.image.clone(),
        });
        let addresses = addresses(read, &status);
        if new == status.conditions && status.host == shown && status.addresses == addresses {
            return Ok(());
        }
        let mut change = json!({ "conditions": new, "host": shown, "addresses": addresses });
        // A merge would keep the image of the last host.
        if change["host"].is_object() && change["host"].get("image").is_none() {
            change["host"]["image"] = Value::Null;
        }
        write::change_status(&self.client, &read.object, change).await
    }
}
