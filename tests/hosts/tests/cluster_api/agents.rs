//! The agents of all Nodes: each answers a request at once, as if its node had been upgraded.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::task::JoinHandle;
use upgrade::target::request;
use upgrade::{RawRequest, names};

/// The agents. Dropping them ends them.
pub struct Agents(JoinHandle<()>);

impl Drop for Agents {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Agents {
    /// Those of all Nodes.
    pub fn play(client: Client) -> Self {
        Self(tokio::spawn(async move {
            let nodes: Api<Node> = Api::all(client);
            loop {
                if let Err(error) = answer(&nodes).await {
                    eprintln!("agents: {error:#}");
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }))
    }
}

async fn answer(nodes: &Api<Node>) -> Result<()> {
    for node in nodes.list(&ListParams::default()).await? {
        let notes = node.annotations();
        let asked = request::from_annotations(|key| notes.get(key).cloned());
        let asked = asked.filter(RawRequest::is_scheduled);
        let Some((id, version)) = asked.and_then(|asked| Some((asked.id?, asked.kubernetes?)))
        else {
            continue;
        };
        let answered = notes.get(names::STATUS);
        if answered.is_none_or(|status| !status.contains(&id)) {
            upgraded(nodes, &node.name_any(), (&id, &version)).await?;
        }
    }
    Ok(())
}

async fn upgraded(nodes: &Api<Node>, name: &str, (id, version): (&str, &str)) -> Result<()> {
    let how = PatchParams::default();
    let kubelet = json!({ "status": { "nodeInfo": { "kubeletVersion": version } } });
    nodes
        .patch_status(name, &how, &Patch::Merge(kubelet))
        .await?;
    let status =
        json!({ "id": id, "phase": "Upgraded", "percent": 100, "tries": 1, "reached": [] });
    let notes = json!({ names::ANSWER: "Upgraded", names::STATUS: status.to_string() });
    let change = json!({ "metadata": { "annotations": notes } });
    nodes.patch(name, &how, &Patch::Merge(change)).await?;
    Ok(())
}
