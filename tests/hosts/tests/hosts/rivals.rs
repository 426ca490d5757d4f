//! Two packages of careen-provider in one management cluster: the one that core does not call waits.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use anyhow::{Result, ensure};
use hosts_tests::{Running, Scene};
use provider::{manifests, names};
use serde_json::json;
use testkit::cluster_api::objects;

pub async fn extension_leads_to(scene: &Scene, namespace: &str) -> Result<()> {
    let extension = json!({
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
        "metadata": { "name": names::MANAGER },
        "spec": { "clientConfig": { "service": { "name": names::MANAGER, "namespace": namespace } } },
    });
    objects::apply(&scene.admin, &extension).await.map(drop)
}

pub fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[tokio::test]
async fn provider_that_core_does_not_call_waits_and_says_so() -> Result<()> {
    let scene = Scene::new("rivals").await?;
    extension_leads_to(&scene, "elsewhere").await?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let _provider = Running::elected(&scene.admin, "rivals", address).await?;
    let shown = |path: &'static str, word: &'static str| async move {
        let said = tokio::task::spawn_blocking(move || get(address, path)).await??;
        ensure!(said.contains(word), "{said}");
        Ok(())
    };
    scene
        .until("it names the other one", || {
            shown("/readyz", "the careen-provider in namespace elsewhere")
        })
        .await?;
    shown("/metrics", "careen_provider_leader 0").await?;
    extension_leads_to(&scene, manifests::NAMESPACE).await?;
    scene
        .until("it leads", || shown("/metrics", "careen_provider_leader 1"))
        .await
}
