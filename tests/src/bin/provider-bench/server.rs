//! The workload cluster: only an API server and its etcd, as the rig creates them. A controller
//! manager would mark thousands of Nodes without a kubelet as failed, and write each of them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use kube::Client;
use testkit::cluster_api::objects;
use testkit::control_plane::{ControlPlane, HOST_SEEN_FROM_GUEST, ports};
use testkit::process::Process;
use testkit::programs;

/// A running server. A drop kills it.
pub struct Server {
    /// Its administrator.
    pub admin: Client,
    /// The location of its credentials. Its own four processes have ended.
    pub plane: ControlPlane,
    // The API server ends before the store to which it writes.
    _api: Process,
    _etcd: Process,
}

/// An empty folder for a cluster. The path is fixed, so that killed runs leave one folder in total
/// and not one folder each.
pub fn folder(word: &str) -> Result<PathBuf> {
    let dir = programs::cache()?.join(format!("provider-bench-{word}"));
    if dir.exists() {
        std::fs::remove_dir_all(&dir).context("an old cluster is in the way")?;
    }
    Ok(dir)
}

impl Server {
    /// A new, empty cluster.
    pub async fn start() -> Result<Self> {
        let mut plane = ControlPlane::start(&folder("workload")?).await?;
        plane.stop();
        let [store, peer] = ports::free()?.map(|port| format!("http://127.0.0.1:{port}"));
        let start = |program: &Path, arguments: &[String], word: &str| {
            let log = plane.dir().join(format!("logs/bench-{word}.log"));
            Process::start(program, arguments, &log)
        };
        let etcd = start(&programs::etcd()?, &etcd(&plane, &store, &peer), "etcd")?;
        let program = plane.program("kube-apiserver");
        let api = start(&program, &api_server(&plane, &store), "kube-apiserver")?;
        let admin = plane.client().await?;
        until_ready(&admin).await?;
        Ok(Self {
            admin,
            plane,
            _api: api,
            _etcd: etcd,
        })
    }
}

async fn until_ready(admin: &Client) -> Result<()> {
    let ask = || async {
        let request = http::Request::get("/readyz").body(Vec::new())?;
        let said = admin.request_text(request).await?;
        ensure!(said == "ok", "{said}");
        Ok(())
    };
    objects::until("the workload cluster's API server", PATIENCE, ask).await
}

/// The arguments of the rig's own etcd. It also keeps nothing over a power loss.
fn etcd(plane: &ControlPlane, store: &str, peer: &str) -> Vec<String> {
    vec![
        format!("--data-dir={}", plane.dir().join("etcd").display()),
        format!("--listen-client-urls={store}"),
        format!("--advertise-client-urls={store}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync=true".into(),
        "--log-level=warn".into(),
    ]
}

/// The arguments of the rig's own API server, without those that only nodes and pods need.
fn api_server(plane: &ControlPlane, store: &str) -> Vec<String> {
    let pki = plane.dir().join("pki");
    let pki = pki.display();
    vec![
        format!("--advertise-address={HOST_SEEN_FROM_GUEST}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={}", plane.api_port()),
        format!("--etcd-servers={store}"),
        "--endpoint-reconciler-type=none".into(),
        "--authorization-mode=Node,RBAC".into(),
        "--service-cluster-ip-range=10.96.0.0/12".into(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        format!("--service-account-key-file={pki}/sa.pub"),
        format!("--service-account-signing-key-file={pki}/sa.key"),
        format!("--client-ca-file={pki}/ca.crt"),
        format!("--tls-cert-file={pki}/apiserver.crt"),
        format!("--tls-private-key-file={pki}/apiserver.key"),
    ]
}
