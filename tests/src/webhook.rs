//! An API server that answers 500, because it must call a webhook that it cannot reach.

use anyhow::Result;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use crate::node::TestNode;

/// The webhook, until the test removes it.
pub struct Broken {
    hooks: Api<ValidatingWebhookConfiguration>,
    name: String,
}

impl Broken {
    /// Makes every write to this Node's status fail with 500.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn for_status_of(node: &TestNode) -> Result<Self> {
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(Client::clone(&node.admin));
        let hook = json!({
            "metadata": { "name": node.name },
            "webhooks": [{
                "name": "broken.careen.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 1,
                "clientConfig": { "url": "https://127.0.0.1:1/" },
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes/status"],
                }],
                "matchConditions": [{ "name": "one", "expression": format!("object.metadata.name == '{}'", node.name) }],
            }],
        });
        hooks
            .create(&PostParams::default(), &serde_json::from_value(hook)?)
            .await?;
        // The server applies the webhook within about a second. This waits until a write of the
        // test fails.
        let this = Self {
            hooks,
            name: node.name.clone(),
        };
        while node
            .kubelet_says("boot", crate::node::OLD_VERSION, true)
            .await
            .is_ok()
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Ok(this)
    }

    /// Removes the webhook.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn mend(self) -> Result<()> {
        self.hooks
            .delete(&self.name, &DeleteParams::default())
            .await?;
        Ok(())
    }
}
