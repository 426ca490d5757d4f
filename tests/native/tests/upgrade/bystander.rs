//! A pod of the cluster's users on the only member. It has nowhere else to go, so no upgrade may
//! evict it.

use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client};
use native::until;
use serde_json::json;

/// The pod, as the API server has it.
#[derive(Debug, PartialEq, Eq)]
pub struct Bystander {
    uid: Option<String>,
    ends: bool,
}

impl Bystander {
    /// Puts the pod on a node.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses it.
    pub async fn on(node: &str, client: &Client) -> anyhow::Result<Self> {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let pod = serde_json::from_value(json!({
            "metadata": { "name": "bystander" },
            "spec": {
                "nodeName": node,
                "automountServiceAccountToken": false,
                "containers": [{ "name": "one", "image": "localhost/one" }],
            },
        }))?;
        // The namespace's ServiceAccount comes soon after the cluster.
        until("a pod of a user", async || {
            pods.create(&PostParams::default(), &pod).await.is_ok()
        })
        .await;
        Self::now(client).await
    }

    /// The pod as it is now.
    ///
    /// # Errors
    ///
    /// Fails when it is gone.
    pub async fn now(client: &Client) -> anyhow::Result<Self> {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let meta = pods.get("bystander").await?.metadata;
        Ok(Self {
            ends: meta.deletion_timestamp.is_some(),
            uid: meta.uid,
        })
    }
}
