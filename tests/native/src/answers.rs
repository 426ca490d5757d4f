//! Clients of a member's API server and etcd, for tests outside its namespaces.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

/// How long a server may take for one answer. An API server says only after 7 s that its etcd has
/// no quorum.
const PATIENCE: Duration = Duration::from_secs(15);

/// etcd's JSON gateway, asked with the certificate of kubeadm's health check.
#[derive(Clone)]
pub struct Etcd(Client);

impl Etcd {
    /// A client of the etcd at this port of loopback; `pki` has its certificates.
    ///
    /// # Errors
    ///
    /// Fails when the certificates cannot be read.
    pub async fn at(port: u16, pki: &Path) -> Result<Self> {
        let client = connect(
            port,
            json!({
                "cluster": {"certificate-authority": pki.join("ca.crt")},
                "user": {
                    "client-certificate": pki.join("healthcheck-client.crt"),
                    "client-key": pki.join("healthcheck-client.key"),
                },
            }),
        );
        Ok(Self(client.await?))
    }

    /// Calls a method of the gateway, such as `maintenance/status`.
    ///
    /// # Errors
    ///
    /// Fails when etcd does not answer or refuses.
    pub async fn call(&self, method: &str, body: &Value) -> Result<Value> {
        let request = Request::post(format!("/v3/{method}")).body(serde_json::to_vec(body)?)?;
        Ok(self.0.request(request).await?)
    }

    /// What this member says of itself, also without a quorum.
    ///
    /// # Errors
    ///
    /// Fails when it does not answer.
    pub async fn status(&self) -> Result<Value> {
        self.call("maintenance/status", &json!({})).await
    }
}

/// A client with the administrator's rights, from this admin.conf.
///
/// # Errors
///
/// Fails when the file cannot be read.
pub async fn administrator(port: u16, kubeconfig: &Path) -> Result<Client> {
    let content: Value = serde_saphyr::from_str(&std::fs::read_to_string(kubeconfig)?)?;
    connect(
        port,
        json!({
            "cluster": content["clusters"][0]["cluster"],
            "user": content["users"][0]["user"],
        }),
    )
    .await
}

/// Whether the API server behind this client says that it is ready.
pub async fn is_ready(client: &Client) -> bool {
    let request = Request::get("/readyz").body(Vec::new());
    match request {
        Ok(request) => client
            .request_text(request)
            .await
            .is_ok_and(|text| text == "ok"),
        Err(_) => false,
    }
}

/// A kubeconfig for the API server at this port of loopback, with these files.
pub fn kubeconfig(port: u16, authority: &Path, client: &Path) -> Value {
    content(
        port,
        &json!({
            "cluster": { "certificate-authority": authority },
            "user": { "client-certificate": client, "client-key": client },
        }),
    )
}

fn content(port: u16, parts: &Value) -> Value {
    let mut cluster = parts["cluster"].clone();
    cluster["server"] = json!(format!("https://127.0.0.1:{port}"));
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "native", "cluster": cluster}],
        "users": [{"name": "native", "user": parts["user"]}],
        "contexts": [{"name": "native", "context": {"cluster": "native", "user": "native"}}],
        "current-context": "native",
    })
}

async fn connect(port: u16, parts: Value) -> Result<Client> {
    let content: Kubeconfig = serde_json::from_value(content(port, &parts))?;
    let mut config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    config.read_timeout = Some(PATIENCE);
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
