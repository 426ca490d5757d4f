//! An API server that answers 500, because it must call a webhook that hangs up.

use anyhow::Result;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::node::TestNode;

/// The webhook, until the test removes it.
pub struct Broken {
    hooks: Api<ValidatingWebhookConfiguration>,
    name: String,
    calls: watch::Sender<u64>,
}

impl Broken {
    /// Makes every write to this Node's status fail with 500.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn for_status_of(node: &TestNode) -> Result<Self> {
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(Client::clone(&node.admin));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://127.0.0.1:{}/", listener.local_addr()?.port());
        let calls = watch::Sender::new(0);
        tokio::spawn(hang_up(listener, calls.clone()));
        let hook = json!({
            "metadata": { "name": node.name },
            "webhooks": [{
                "name": "broken.careen.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 1,
                "clientConfig": { "url": url },
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
            calls,
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

    /// How often the server has called it so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        *self.calls.borrow()
    }

    /// Waits until the server calls it again, after `after` calls.
    pub async fn until_called(&self, after: u64) {
        let _ = self
            .calls
            .subscribe()
            .wait_for(|calls| *calls > after)
            .await;
    }

    /// Removes the webhook.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn repair(self) -> Result<()> {
        self.hooks
            .delete(&self.name, &DeleteParams::default())
            .await?;
        Ok(())
    }
}

/// Counts each call and hangs up.
async fn hang_up(listener: TcpListener, calls: watch::Sender<u64>) {
    while listener.accept().await.is_ok() {
        calls.send_modify(|calls| *calls += 1);
    }
}
