//! An API server that must call a webhook which is broken.

use anyhow::Result;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::node::TestNode;
use crate::pods::Namespace;

/// A webhook that hangs up, so that the server answers 500, until the test removes it.
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

/// A webhook that takes connections and never answers. The server waits for it as long as it does
/// by default, and then goes on without it.
pub struct Silent {
    calls: watch::Sender<u64>,
}

impl Silent {
    /// Makes each eviction in this namespace wait for it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn for_evictions_in(pods: &Namespace) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://127.0.0.1:{}/", listener.local_addr()?.port());
        let this = Self {
            calls: watch::Sender::new(0),
        };
        tokio::spawn(keep_silent(listener, this.calls.clone()));
        let hook = json!({
            "metadata": { "name": pods.name },
            "webhooks": [{
                "name": "silent.careen.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Ignore", "clientConfig": { "url": url },
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": pods.name } },
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/eviction"],
                }],
            }],
        });
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(pods.admin());
        hooks
            .create(&PostParams::default(), &serde_json::from_value(hook)?)
            .await?;
        Ok(this)
    }

    /// How often the server has called it so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        *self.calls.borrow()
    }
}

/// Counts each call and holds it.
async fn keep_silent(listener: TcpListener, calls: watch::Sender<u64>) {
    let mut held = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        calls.send_modify(|calls| *calls += 1);
        held.push(stream);
    }
}
