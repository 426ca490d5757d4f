//! A Node as its kubelet registers it, and the kubelet's credential.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use upgrade::names;

use crate::cluster::{PATIENCE, client, plane};
use crate::wire::Wire;

/// The version that Nodes begin with.
pub const OLD_VERSION: &str = "v1.35.4";

/// A Node of one test.
pub struct TestNode {
    /// Its name.
    pub name: String,
    /// The administrator.
    pub admin: Client,
    /// A kubeconfig with the kubelet's credential, through the wire.
    pub kubeconfig: PathBuf,
    /// The wire between agent and API server.
    pub wire: Wire,
    /// A folder for whatever the test needs.
    pub folder: TempDir,
}

/// What a test may ask of a Node.
type Condition<'a> = &'a (dyn Fn(&Node) -> bool + Sync);

impl TestNode {
    /// Registers a Node.
    ///
    /// # Errors
    /// When the control plane does not serve.
    pub async fn new(word: &str) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("{word}-{}", NUMBER.fetch_add(1, Ordering::SeqCst));
        let admin = plane().await?.client().await?;
        let folder = tempfile::tempdir()?;
        let wire = Wire::to(plane().await?.api_port()).await?;
        let nodes: Api<Node> = Api::all(admin.clone());
        // As kubelets make theirs: of a Node without anything in it the server keeps no books (metadata.managedFields).
        let labels = json!({ "kubernetes.io/hostname": name });
        let node = json!({ "metadata": { "name": name, "labels": labels } });
        let node = serde_json::from_value(node)?;
        nodes.create(&PostParams::default(), &node).await?;
        let kubeconfig = folder.path().join("kubelet.conf");
        let this = Self {
            name,
            admin,
            kubeconfig,
            wire,
            folder,
        };
        this.give_credential(Duration::from_secs(3600)).await?;
        this.kubelet_says("boot-0", OLD_VERSION, true).await?;
        Ok(this)
    }

    /// The API of Nodes, with the administrator's rights.
    #[must_use]
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    /// A client with the kubelet's rights.
    ///
    /// # Errors
    /// When the credential cannot be read.
    pub async fn as_kubelet(&self) -> Result<Client> {
        client(&self.kubeconfig).await
    }

    /// Writes the credential as kubeadm lays it out: a kubeconfig that points to a certificate file.
    ///
    /// # Errors
    /// When kubeadm refuses.
    pub async fn give_credential(&self, valid_for: Duration) -> Result<()> {
        let made = plane().await?.node_kubeconfig(&self.name, valid_for)?;
        let mut content: Value = serde_json::from_slice(&std::fs::read(made)?)?;
        content["clusters"][0]["cluster"]["server"] =
            json!(format!("https://127.0.0.1:{}", self.wire.port));
        let pem = self.folder.path().join("kubelet-client-current.pem");
        let user = &mut content["users"][0]["user"];
        replace(&pem, &certificate(user)?)?;
        *user = json!({ "client-certificate": pem, "client-key": pem });
        if !self.kubeconfig.exists() {
            replace(&self.kubeconfig, &serde_json::to_vec(&content)?)?;
        }
        Ok(())
    }

    /// What a kubelet reports of its boot, its version and its health, at a time of its own.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn kubelet_says(&self, boot: &str, version: &str, ready: bool) -> Result<()> {
        let info = json!({
            "architecture": "amd64", "bootID": boot, "containerRuntimeVersion": "containerd://2", "kernelVersion": "6.12",
            "kubeProxyVersion": "", "kubeletVersion": version, "machineID": "m", "operatingSystem": "linux",
            "osImage": "test", "systemUUID": "s",
        });
        static REPORTS: AtomicU32 = AtomicU32::new(0);
        let number = REPORTS.fetch_add(1, Ordering::SeqCst);
        let said = format!(
            "2026-01-01T{:02}:{:02}:{:02}Z",
            number / 3600,
            number / 60 % 60,
            number % 60
        );
        let status = if ready { "True" } else { "False" };
        let condition = json!({
            "type": "Ready", "status": status, "reason": "Test", "message": "", "lastHeartbeatTime": said,
        });
        let body = json!({ "status": { "nodeInfo": info, "conditions": [condition] } });
        self.nodes()
            .patch_status(&self.name, &PatchParams::default(), &Patch::Strategic(body))
            .await?;
        Ok(())
    }

    /// Sets annotations as a person would; `null` removes one.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn annotate(&self, annotations: Value) -> Result<()> {
        self.change(json!({ "metadata": { "annotations": annotations } }))
            .await
    }

    /// Sets labels as a kubelet or a person would; `null` removes one.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn label(&self, labels: Value) -> Result<()> {
        self.change(json!({ "metadata": { "labels": labels } }))
            .await
    }

    /// Changes several things in one write.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn change(&self, body: Value) -> Result<()> {
        self.nodes()
            .patch(&self.name, &PatchParams::default(), &Patch::Merge(body))
            .await?;
        Ok(())
    }

    /// Asks for an upgrade.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn ask_for(&self, image: &str) -> Result<()> {
        self.annotate(json!({ names::REQUEST: names::REQUEST_SCHEDULED, names::IMAGE: image }))
            .await
    }

    /// Cordons or uncordons as a person would.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn set_unschedulable(&self, on: bool) -> Result<()> {
        self.change(json!({ "spec": { "unschedulable": on } }))
            .await
    }

    /// The Node now.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn now(&self) -> Result<Node> {
        Ok(self.nodes().get(&self.name).await?)
    }

    /// The Node once the condition holds.
    ///
    /// # Errors
    /// When it does not come to hold: names `what`, and how the Node is instead.
    pub async fn until(&self, what: &str, holds: Condition<'_>) -> Result<Node> {
        let wait = await_condition(self.nodes(), &self.name, |node: Option<&Node>| {
            node.is_some_and(holds)
        });
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(node) => node?.context("the Node is gone"),
            Err(_) => {
                let node = self.now().await?;
                anyhow::bail!(
                    "not seen: {what}; {:#?} {:?}",
                    node.annotations(),
                    node.spec
                )
            }
        }
    }

    /// The Events about this Node by the agent, the oldest first, once one has this reason.
    ///
    /// # Errors
    /// When there is none with it.
    pub async fn until_event(&self, reason: &str) -> Result<Vec<Event>> {
        let api: Api<Event> = Api::namespaced(self.admin.clone(), "default");
        let about = ListParams::default().fields(&format!("regarding.name={}", self.name));
        let look = async {
            loop {
                let mut events = api.list(&about).await?.items;
                events.retain(|event| {
                    event.reporting_controller.as_deref() == Some("careen.dev/agent")
                });
                events.sort_by_key(|event| event.event_time.clone());
                if events
                    .iter()
                    .any(|event| event.reason.as_deref() == Some(reason))
                {
                    return Ok(events);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, look)
            .await
            .context("no such Event")?
    }

    /// The Node once it is answered so.
    ///
    /// # Errors
    /// When that answer does not come.
    pub async fn until_answered(&self, answer: &str) -> Result<Node> {
        self.until(answer, &|node| annotation(node, names::ANSWER) == answer)
            .await
    }
}

/// An annotation's value; empty when there is none.
#[must_use]
pub fn annotation<'a>(node: &'a Node, key: &str) -> &'a str {
    node.annotations().get(key).map_or("", String::as_str)
}

/// Whether pods may be scheduled to the Node.
#[must_use]
pub fn is_cordoned(node: &Node) -> bool {
    node.spec
        .as_ref()
        .and_then(|spec| spec.unschedulable)
        .unwrap_or(false)
}

/// Our condition's status, reason and message.
#[must_use]
pub fn condition(node: &Node) -> Option<(String, String, String)> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ours = conditions
        .iter()
        .find(|condition| condition.type_ == names::CONDITION)?;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    Some((ours.status.clone(), text(&ours.reason), text(&ours.message)))
}

/// Merges JSON objects, the second over the first.
pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Certificate and key in one PEM, as the kubelet keeps them.
fn certificate(user: &Value) -> Result<Vec<u8>> {
    let part = |key: &str| -> Result<Vec<u8>> {
        let bytes: ByteString = serde_json::from_value(user[key].clone())?;
        Ok(bytes.0)
    };
    Ok([part("client-certificate-data")?, part("client-key-data")?].concat())
}

/// Replaces a file as the kubelet does: a new one under the old name.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, content)?;
    Ok(std::fs::rename(fresh, path)?)
}
