//! The kubeconfig of the Cluster `c`, with only the rights that careen-provider uses there.

use anyhow::{Context, Result};
use hosts_tests::{Scene, plane};
use serde_json::json;
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::objects;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The way to the API server of the Cluster. It can be shut.
pub struct Gate {
    port: u16,
    open: watch::Sender<bool>,
}

impl Gate {
    /// An open one.
    pub async fn open() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (open, seen) = watch::channel(true);
        let port = listener.local_addr()?.port();
        let server = plane().await?.api_port();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(lead(near, server, seen.clone()));
            }
        });
        Ok(Self { port, open })
    }

    /// Opens or shuts it. What is on the way is lost.
    pub fn set(&self, is_open: bool) {
        self.open.send_replace(is_open);
    }
}

async fn lead(mut near: TcpStream, server: u16, mut open: watch::Receiver<bool>) {
    if !*open.borrow() {
        return;
    }
    let Ok(mut far) = TcpStream::connect(("127.0.0.1", server)).await else {
        return;
    };
    tokio::select! {
        // A connection that either end closes is no error here.
        _ = copy_bidirectional(&mut near, &mut far) => {}
        () = async { drop(open.wait_for(|is_open| !*is_open).await) } => {}
    }
}

/// Makes the Secret. `docs/cluster-api.md` and `docs/infrastructure.md` list these rights.
pub async fn reachable(scene: &Scene) -> Result<()> {
    reachable_by(scene, plane().await?.api_port()).await
}

/// The same, through a gate.
pub async fn reachable_through(scene: &Scene, gate: &Gate) -> Result<()> {
    reachable_by(scene, gate.port).await
}

async fn reachable_by(scene: &Scene, port: u16) -> Result<()> {
    let name = "careen-provider-there";
    let group = "rbac.authorization.k8s.io";
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    let rules = [
        rule("", "nodes", &["list", "watch", "patch"]),
        rule("", "pods", &["list", "watch"]),
        rule("", "pods/eviction", &["create"]),
        rule("", "persistentvolumeclaims", &["get"]),
        rule("storage.k8s.io", "volumeattachments", &["list"]),
        rule("policy", "poddisruptionbudgets", &["get"]),
    ];
    let account = json!([{ "kind": "ServiceAccount", "name": name, "namespace": scene.space }]);
    for object in [
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": scene.space } }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRole",
            "metadata": { "name": name }, "rules": rules,
        }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding",
            "metadata": { "name": format!("{name}-{}", scene.space) },
            "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": name }, "subjects": account,
        }),
    ] {
        objects::apply(&scene.admin, &object).await?;
    }
    let mut content = kubeconfig_of(plane().await?, &scene.admin, (&scene.space, name)).await?;
    for cluster in &mut content.clusters {
        let cluster = cluster.cluster.as_mut().context("no cluster")?;
        cluster.server = Some(format!("https://127.0.0.1:{port}"));
    }
    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "c-kubeconfig" },
            "stringData": { "value": serde_json::to_string(&content)? },
        }))
        .await
        .map(drop)
}
