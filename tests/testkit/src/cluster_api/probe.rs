//! Checks whether a manager is ready, a definition is served, or a webhook is in use. It asks
//! instead of waiting a fixed time.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::Client;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::manager::Manager;
use super::objects;

/// How long a manager may take to be ready. It takes less than a second on a quiet machine; the
/// limit is long because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Whether `/readyz` on this port of loopback answers 200; false while nothing listens.
pub async fn is_ready(port: u16) -> bool {
    let answer = get(port, "/readyz").await.unwrap_or_default();
    let status = answer.lines().next().unwrap_or_default();
    status.contains(" 200 ")
}

/// The response at this path on this port of loopback, from the status line on.
pub async fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Waits until every version of a definition can be listed: right after its creation the server
/// answers 404, then 429 "storage is (re)initializing".
pub async fn is_served(client: &Client, definition: &Value) -> Result<()> {
    let spec = &definition["spec"];
    let group = spec["group"].as_str().context("no group")?;
    let word = spec["names"]["kind"].as_str().context("no kind")?;
    let versions = spec["versions"].as_array().context("no versions")?;
    for version in versions.iter().filter(|version| version["served"] == true) {
        let version = version["name"].as_str().context("no version")?;
        let kind = objects::kind(&format!("{group}/{version}"), word)?;
        let api = objects::api(client, &kind, None);
        let ask = || async { Ok(api.list_metadata(&ListParams::default().limit(1)).await?) };
        objects::until(&format!("{word} served"), PATIENCE, ask).await?;
    }
    Ok(())
}

/// The sign that the API server calls a manager's webhooks.
enum Sign {
    /// They fill in this field.
    Defaults(&'static str),
    /// They reject the object, although its schema allows it.
    Refuses,
}

/// Waits until a dry-run create gets an answer that only the manager's webhooks give. The API
/// server applies a new configuration some time after it is stored.
pub async fn webhooks_are_in_force(client: &Client, manager: Manager) -> Result<()> {
    let (object, sign) = telling(manager);
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = objects::kind(version, object["kind"].as_str().unwrap_or_default())?;
    let api = objects::api(client, &kind, Some("default"));
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let object = serde_json::from_value(object)?;
    let ask = || async {
        match (api.create(&dry, &object).await, &sign) {
            (Ok(made), Sign::Defaults(field)) => {
                let made = serde_json::to_value(made)?;
                ensure!(made.pointer(field).is_some(), "no {field}");
            }
            (Ok(_), Sign::Refuses) => bail!("let through"),
            // The API server's words for a webhook's rejection. What the schema rejects is called
            // invalid.
            (Err(error), Sign::Refuses) if error.to_string().contains("denied the request") => {}
            (Err(error), _) => return Err(error.into()),
        }
        Ok(())
    };
    let what = format!("webhooks of manager {} in force", manager.name());
    objects::until(&what, PATIENCE, ask).await
}

/// An object that lacks a field or has one too many.
fn telling(manager: Manager) -> (Value, Sign) {
    let metadata = json!({ "name": "probe", "namespace": "default" });
    let reference =
        |group: &str, kind: &str| json!({ "apiGroup": group, "kind": kind, "name": "probe" });
    let infrastructure = reference("infrastructure.careen.dev", "Probe");
    let two_contents = json!({ "path": "/a", "content": "a", "contentFrom": { "secret": { "name": "a", "key": "a" } } });
    let join =
        json!({ "nodeRegistration": { "criSocket": "unix:///run/containerd/containerd.sock" } });
    match manager {
        Manager::Core => {
            let config = reference("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate");
            let spec = json!({
                "clusterName": "probe",
                "selector": {},
                "template": { "spec": {
                    "clusterName": "probe", "version": "v1.36.3",
                    "bootstrap": { "configRef": config }, "infrastructureRef": infrastructure,
                } },
            });
            let object = json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": metadata, "spec": spec,
            });
            (object, Sign::Defaults("/spec/replicas"))
        }
        Manager::Bootstrap => (
            json!({
                "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": metadata,
                "spec": { "files": [two_contents] },
            }),
            Sign::Refuses,
        ),
        Manager::ControlPlane => (
            json!({
                "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": metadata,
                "spec": {
                    "version": "v1.36.3",
                    "kubeadmConfigSpec": { "joinConfiguration": join },
                    "machineTemplate": { "spec": { "infrastructureRef": infrastructure } },
                },
            }),
            Sign::Defaults("/spec/replicas"),
        ),
    }
}
