//! The in-memory provider as a process next to the managers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use kube::Client;
use serde_json::{Value, json};
use testkit::cluster_api::{Version, install_definitions};
use testkit::control_plane::ControlPlane;
use testkit::process::Process;
use testkit::programs;
use tokio::sync::Mutex;

use crate::provider_process::free_address;
use crate::replica;

/// The running provider. A drop kills it, and the API servers of its Clusters with it.
pub struct InMemory {
    process: Mutex<Process>,
    metrics: SocketAddr,
}

impl InMemory {
    /// Builds it on first use (minutes), installs its definitions and starts it. Cluster API's own
    /// definitions must exist.
    ///
    /// The installation leaves its webhooks out. They set the backend where an object names none
    /// (Docker), and default and validate fields that only Docker has. They also keep the spec of a
    /// template immutable and its metadata well-formed (v1.14.0). Here each object names its
    /// backend, and no test changes a template, so the webhooks would change and refuse nothing.
    ///
    /// # Errors
    /// When it does not build or start.
    pub async fn start(version: Version, plane: &ControlPlane, admin: &Client) -> Result<Self> {
        let built = tokio::task::spawn_blocking(move || built(version)).await??;
        install_definitions(admin, &definitions(&built)?).await?;
        let log = plane.dir().join("logs/cluster-api-in-memory.log");
        let metrics = free_address()?;
        let arguments = arguments(plane, &built, metrics)?;
        let process = Process::start(Path::new("env"), &arguments, &log)?;
        Ok(Self {
            process: Mutex::new(process),
            metrics,
        })
    }

    /// Returns Ok while it runs.
    ///
    /// # Errors
    /// When it has ended. The error names its log and repeats the last lines.
    pub async fn check(&self) -> Result<()> {
        self.process.lock().await.check()
    }

    /// How many watches of a Cluster's Nodes have ended for clients that send no user agent.
    /// careen-provider sends none, and all other clients are Go programs.
    ///
    /// # Errors
    /// When the provider does not report the number.
    pub async fn ended_watches(&self, cluster: &str) -> Result<u64> {
        let text = replica::get(self.metrics, "/metrics").await?;
        let labels = [
            format!("cluster_name=\"{cluster}/{cluster}\""),
            "resource=\"nodes\"".to_owned(),
            "user_agent=\"\"".to_owned(),
            "verb=\"WATCH\"".to_owned(),
        ];
        let counts = text.lines().filter_map(|line| {
            let of_ours = line.starts_with("inmemory_apiserver_request_total{")
                && labels.iter().all(|label| line.contains(label));
            let count = line.rsplit_once(' ')?.1;
            of_ours.then_some(count)?.parse::<u64>().ok()
        });
        Ok(counts.sum())
    }
}

/// The folder with `program` and `crd/`.
fn built(version: Version) -> Result<PathBuf> {
    let script = programs::home().join("cluster-api/build.sh");
    let output = Command::new(&script)
        .args([version.as_str(), "in-memory"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    let (script, status) = (script.display(), output.status);
    ensure!(status.success(), "{script} in-memory: {status}");
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

/// Its definitions, with the label by which Cluster API finds the version that implements its
/// contract.
fn definitions(built: &Path) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(built.join("crd"))? {
        let text = std::fs::read_to_string(entry?.path())?;
        let mut definition: Value = serde_saphyr::from_str(&text)?;
        definition["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"] = json!("v1beta2");
        found.push(definition);
    }
    Ok(found)
}

/// It announces its API servers at `POD_IP`. It runs few workers, as the managers do: each job on a
/// host that is a record is short.
fn arguments(plane: &ControlPlane, built: &Path, metrics: SocketAddr) -> Result<Vec<String>> {
    Ok(vec![
        "POD_IP=127.0.0.1".into(),
        built.join("program").display().to_string(),
        format!("--kubeconfig={}", plane.admin_kubeconfig().display()),
        format!("--webhook-port={}", free_address()?.port()),
        format!("--webhook-cert-dir={}", plane.dir().join("pki").display()),
        "--webhook-cert-name=apiserver.crt".into(),
        "--webhook-key-name=apiserver.key".into(),
        "--health-addr=127.0.0.1:0".into(),
        format!("--diagnostics-address={metrics}"),
        "--insecure-diagnostics".into(),
        "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields".into(),
        "--devmachine-concurrency=10".into(),
    ])
}
