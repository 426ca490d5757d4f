//! One control plane for all tests of a run. Each test has its own Nodes and namespaces.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use testkit::control_plane::ControlPlane;
use tokio::sync::OnceCell;

/// The longest time that a test waits for anything. It is far longer than needed, because the
/// machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Its processes end with this process: the kernel kills them when the thread that started them
/// ends.
static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

/// The control plane. The first caller starts it.
///
/// # Errors
/// When it does not start.
pub async fn plane() -> Result<&'static ControlPlane> {
    PLANE
        .get_or_try_init(|| async {
            // A fixed path, so that killed runs leave one folder in total and not one folder each.
            let dir = testkit::programs::cache()?.join("agent-tests-cluster");
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
/// When the kubeconfig is not readable.
pub async fn client(kubeconfig: &Path) -> Result<Client> {
    let content = Kubeconfig::read_from(kubeconfig)?;
    let config =
        kube::Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
