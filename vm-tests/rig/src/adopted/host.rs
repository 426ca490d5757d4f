//! The only host: a node that has already joined, and becomes a Machine's node unchanged.

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use testkit::cluster_api::infrastructure::{Host, Hosts, Order};

/// The host. It belongs to the first Machine that asks. No other Machine gets one, and it cannot be
/// removed.
pub struct JoinedHost {
    nodes: Api<Node>,
    name: String,
}

impl JoinedHost {
    /// The host of this Node.
    #[must_use]
    pub fn new(admin: Client, node: &str) -> Self {
        Self {
            nodes: Api::all(admin),
            name: node.to_owned(),
        }
    }

    /// A Node's provider id is set once, so it also identifies the owner.
    async fn belongs_to(&self, node: &Node, provider_id: &str) -> Result<()> {
        let found = node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
        match found.filter(|found| !found.is_empty()) {
            Some(found) if found == provider_id => Ok(()),
            Some(found) => bail!("there is one host, {}, and it is {found}", self.name),
            None => {
                let change = Patch::Merge(json!({ "spec": { "providerID": provider_id } }));
                let how = PatchParams::default();
                self.nodes.patch(&self.name, &how, &change).await?;
                Ok(())
            }
        }
    }
}

impl Hosts for JoinedHost {
    async fn boot(&self, order: Order) -> Result<Host> {
        let node = self.nodes.get(&self.name).await?;
        let provider_id = format!("rig://{}", order.name);
        self.belongs_to(&node, &provider_id).await?;
        let address = internal_address(&node);
        Ok(Host {
            provider_id,
            address: address.with_context(|| format!("Node {} has no address", self.name))?,
        })
    }

    async fn scrap(&self, order: Order) -> Result<()> {
        bail!("{} was to keep its host {}", order.name, self.name)
    }
}

fn internal_address(node: &Node) -> Option<String> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    let mut internal = addresses.iter().filter(|one| one.type_ == "InternalIP");
    internal.next().map(|one| one.address.clone())
}
