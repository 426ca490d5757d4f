//! A client that calls careen-provider's hooks as Cluster API's core does.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use provider::hooks::API_VERSION;
use provider::{manifests, names};
use serde_json::{Value, json};

/// The hook that core calls repeatedly while it updates a Machine, with its handler.
pub const UPDATE_MACHINE: &str = "UpdateMachine/update-machine";

/// A caller of the hooks of one process.
pub struct Caller(Client);

impl Caller {
    /// A caller that trusts only the ExtensionConfig's caBundle (base64), as core does.
    ///
    /// # Errors
    /// When the bundle is not readable.
    pub async fn trusting(hooks: SocketAddr, bundle: &str) -> Result<Self> {
        Ok(Self(trusting(hooks, bundle).await?))
    }

    /// Calls a hook, by its name or `<name>/<handler>`.
    ///
    /// # Errors
    /// When the caller does not trust the process, or the process does not answer with 200.
    pub async fn call(&self, hook: &str, content: Value) -> Result<Value> {
        let (word, handler) = hook.split_once('/').unwrap_or((hook, ""));
        let mut body = content;
        body["apiVersion"] = json!(API_VERSION);
        body["kind"] = json!(format!("{word}Request"));
        let end = if handler.is_empty() {
            String::new()
        } else {
            format!("/{handler}")
        };
        let path = format!("/{API_VERSION}/{}{end}", word.to_lowercase());
        let request = http::Request::post(path).body(body.to_string().into_bytes())?;
        Ok(serde_json::from_str(&self.0.request_text(request).await?)?)
    }
}

/// The request that core sends when it calls [`UPDATE_MACHINE`] for a Machine that should have this
/// version. The namespace is also the namespace of the Machine's InfraMachine and Cluster.
#[must_use]
pub fn update_call((namespace, machine): (&str, &str), infra: &str, version: &str) -> Value {
    json!({
        "settings": {},
        "desired": {
            "machine": {
                "kind": "Machine", "metadata": { "name": machine, "namespace": namespace },
                "spec": { "clusterName": namespace, "version": version },
            },
            "infrastructureMachine": { "kind": infra, "metadata": { "name": machine }, "spec": {} },
        },
    })
}

/// The authorities in the Secret of a release, as core copies them into the caBundle (base64).
///
/// # Errors
/// When the Secret does not exist or has none.
pub async fn bundle(admin: &Client) -> Result<String> {
    let secrets: Api<Secret> = Api::namespaced(admin.clone(), manifests::NAMESPACE);
    let bundle = bundle_of(&secrets.get(names::TLS_SECRET).await?);
    ensure!(!bundle.is_empty(), "no authorities");
    Ok(bundle)
}

/// The authorities in a Secret (base64); empty if there are none.
#[must_use]
pub fn bundle_of(secret: &Secret) -> String {
    let found = secret.data.as_ref().and_then(|data| data.get("ca.crt"));
    // A ByteString is base64 in JSON.
    let encoded = found.and_then(|found| serde_json::to_value(found).ok());
    encoded
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// A client of the hooks at this address. It trusts only a caBundle (base64), and keeps its
/// connections open.
///
/// # Errors
/// When `bundle` is not a valid bundle.
pub async fn trusting(hooks: SocketAddr, bundle: &str) -> Result<Client> {
    let server = format!("https://{hooks}");
    let config: Kubeconfig = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{ "name": "a", "cluster": { "server": server, "certificate-authority-data": bundle } }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
        "users": [{ "name": "a", "user": {} }],
    }))?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
