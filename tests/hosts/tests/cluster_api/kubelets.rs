//! The kubelets of all joined hosts: each registers a Node with the provider id of its claim, once.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;
use infrastructure::Phase;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use provider::kinds::CareenHost;
use serde_json::json;
use tokio::task::JoinHandle;

/// The kubelets. Dropping them ends them.
pub struct Kubelets(JoinHandle<()>);

impl Drop for Kubelets {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Kubelets {
    /// Those of the hosts of a namespace.
    pub fn play(client: Client, space: &'static str) -> Self {
        Self(tokio::spawn(async move {
            let mut registered = HashSet::new();
            loop {
                if let Err(error) = register(&client, space, &mut registered).await {
                    eprintln!("kubelets: {error:#}");
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }))
    }
}

async fn register(client: &Client, space: &str, registered: &mut HashSet<String>) -> Result<()> {
    let hosts: Api<CareenHost> = Api::namespaced(client.clone(), space);
    for host in hosts.list(&ListParams::default()).await? {
        let joined = host
            .status
            .as_ref()
            .is_some_and(|one| one.phase == Phase::Joined);
        let Some(claim) = host.spec.claim.clone().filter(|_| joined) else {
            continue;
        };
        if registered.insert(claim.id) {
            node(client, &host.name_any(), &claim.provider_id).await?;
        }
    }
    Ok(())
}

async fn node(client: &Client, name: &str, provider_id: &str) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let object = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
        "spec": { "providerID": provider_id },
    });
    nodes
        .create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    let ready =
        json!({ "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "" });
    let status =
        json!({ "status": { "conditions": [ready], "nodeInfo": { "kubeletVersion": "v1.36.3" } } });
    let patch = Patch::Merge(status);
    nodes
        .patch_status(name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}
