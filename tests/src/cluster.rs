//! One control plane for all tests of a run; each test has Nodes and namespaces of its own.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::OnceCell;
use vm_tests::control_plane::ControlPlane;

/// How long anything that a test waits for may take. Far more than it does: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Its processes end with this process: the kernel kills them when the thread that started them is gone.
static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

/// The control plane, started by whoever asks first.
///
/// # Errors
/// When it does not start.
pub async fn plane() -> Result<&'static ControlPlane> {
    PLANE
        .get_or_try_init(|| async {
            // A fixed place, so that a run that was killed leaves one folder behind and not one more each time.
            let dir = vm_tests::programs::cache()?.join("agent-tests-cluster");
            if dir.exists() {
                std::fs::remove_dir_all(&dir).context("an old cluster is in the way")?;
            }
            ControlPlane::start(&dir).await
        })
        .await
}

/// A client for one kubeconfig.
///
/// # Errors
/// When it cannot be read.
pub async fn client(kubeconfig: &Path) -> Result<Client> {
    let content = Kubeconfig::read_from(kubeconfig)?;
    let config =
        kube::Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
