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

/// The first version of each Node.
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
    /// A folder for the files of the test.
    pub folder: TempDir,
}

/// A condition that a test checks on a Node.
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
        // A kubelet sets this label too. For a Node without any content the server records no
        // metadata.managedFields.
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
    /// When the credential is not readable.
    pub async fn as_kubelet(&self) -> Result<Client> {
        client(&self.kubeconfig).await
    }

    /// Writes the credential in kubeadm's layout: a kubeconfig that points to a certificate file.
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

    /// Reports the boot, version and health that a kubelet reports, with a timestamp of its own.
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

    /// Reports the attached volumes, as the attach-detach controller does, and those of them that
    /// the kubelet uses.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn attach(&self, attached: &[&str], in_use: &[&str]) -> Result<()> {
        let attached = attached.iter();
        let attached: Vec<_> = attached
            .map(|name| json!({ "name": name, "devicePath": "" }))
            .collect();
        let body = json!({ "status": { "volumesAttached": attached, "volumesInUse": in_use } });
        self.nodes()
            .patch_status(&self.name, &PatchParams::default(), &Patch::Merge(body))
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

    /// Requests an upgrade.
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

    /// The current Node.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn now(&self) -> Result<Node> {
        Ok(self.nodes().get(&self.name).await?)
    }

    /// Returns the Node as soon as the condition is true.
    ///
    /// # Errors
    /// When the condition does not become true. The error names `what`, and describes the Node.
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

    /// Returns the agent's Events about this Node, oldest first, as soon as one has this reason.
    ///
    /// # Errors
    /// When no Event has the reason.
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

    /// Returns the Node as soon as the agent gives this answer.
    ///
    /// # Errors
    /// When that answer does not come.
    pub async fn until_answered(&self, answer: &str) -> Result<Node> {
        self.until(answer, &|node| annotation(node, names::ANSWER) == answer)
            .await
    }
}

/// An annotation's value, empty when there is none.
#[must_use]
pub fn annotation<'a>(node: &'a Node, key: &str) -> &'a str {
    node.annotations().get(key).map_or("", String::as_str)
}

/// Whether the Node is cordoned.
#[must_use]
pub fn is_cordoned(node: &Node) -> bool {
    node.spec
        .as_ref()
        .and_then(|spec| spec.unschedulable)
        .unwrap_or(false)
}

/// Status, reason and message of Careen's condition.
#[must_use]
pub fn condition(node: &Node) -> Option<(String, String, String)> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ours = conditions
        .iter()
        .find(|condition| condition.type_ == names::CONDITION)?;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    Some((ours.status.clone(), text(&ours.reason), text(&ours.message)))
}

/// Merges JSON objects. Values of the second replace values of the first.
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

/// Certificate and key in one PEM file, as the kubelet keeps them.
fn certificate(user: &Value) -> Result<Vec<u8>> {
    let part = |key: &str| -> Result<Vec<u8>> {
        let bytes: ByteString = serde_json::from_value(user[key].clone())?;
        Ok(bytes.0)
    };
    Ok([part("client-certificate-data")?, part("client-key-data")?].concat())
}

/// Replaces a file as the kubelet does: it renames a new file to the old name.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, content)?;
    Ok(std::fs::rename(fresh, path)?)
}
