//! What an agent writes to its Node, and what core says when it calls for a Machine.

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use upgrade::names;

use super::{History, Management};
use crate::fleet::images::LATEST;

impl Management {
    /// The agent works on this request; its node is cordoned.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_works(&self, node: &str, id: &str, phase: &str) -> Result<()> {
        let status = json!({ "id": id, "phase": phase, "percent": 60, "tries": 1, "reached": [] });
        self.answer(node, "InProgress", &status, true).await
    }

    /// The agent has failed for this reason; its node is uncordoned.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn agent_fails(&self, node: &str, id: &str, code: &str) -> Result<()> {
        let status = json!({ "id": id, "phase": "Failed", "percent": 60, "code": code, "tries": 1, "reached": [] });
        self.answer(node, "Failed", &status, false).await
    }

    async fn answer(&self, node: &str, word: &str, status: &Value, cordoned: bool) -> Result<()> {
        let annotations = json!({ names::ANSWER: word, names::STATUS: status.to_string() });
        let change = json!({ "metadata": { "annotations": annotations }, "spec": { "unschedulable": cordoned } });
        let how = PatchParams::default();
        self.nodes()
            .patch(node, &how, &Patch::Merge(change))
            .await?;
        Ok(())
    }

    /// The ids that the Node is asked with from now on.
    ///
    /// # Errors
    /// When there is no such Node.
    pub async fn requests_of(&self, node: &str) -> Result<History> {
        let id = |node: &Node| {
            let id = node.annotations().get(names::UPGRADE_ID);
            id.cloned().unwrap_or_default()
        };
        History::of(self.nodes(), node, id).await
    }

    /// What core sends when it calls UpdateMachine for a Machine of ours.
    #[must_use]
    pub fn update_call(&self, machine: &str) -> Value {
        json!({
            "settings": {},
            "desired": {
                "machine": {
                    "kind": "Machine", "metadata": { "name": machine, "namespace": self.space },
                    "spec": { "clusterName": self.space, "version": LATEST.version },
                },
                "infrastructureMachine": { "kind": "HostMachine", "metadata": { "name": machine }, "spec": {} },
            },
        })
    }
}
