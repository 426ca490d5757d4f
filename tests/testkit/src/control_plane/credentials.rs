//! Certificates and kubeconfigs, by kubeadm's own phases.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::folder::Folder;

/// All keys and kubeconfigs of a new cluster; about a second.
pub fn make(folder: &Folder) -> Result<()> {
    let config = path(&folder.dir.join("kubeadm.yaml"));
    folder.kubeadm(&["init", "phase", "certs", "all", "--config", &config])?;
    let kubeconfigs = path(&folder.dir.join("kubeconfigs"));
    for user in ["super-admin", "admin", "controller-manager", "scheduler"] {
        folder.kubeadm(&[
            "init",
            "phase",
            "kubeconfig",
            user,
            "--config",
            &config,
            "--kubeconfig-dir",
            &kubeconfigs,
        ])?;
        let file = folder.kubeconfig(user);
        write_for_this_machine(folder, Kubeconfig::read_from(&file)?, &file)?;
    }
    Ok(())
}

/// See [`super::ControlPlane::node_kubeconfig`].
pub fn for_node(folder: &Folder, node: &str, valid_for: Duration) -> Result<PathBuf> {
    let config = path(&folder.dir.join("kubeadm.yaml"));
    let name = format!("--client-name=system:node:{node}");
    let validity = format!("--validity-period={}s", valid_for.as_secs());
    let text = folder.kubeadm(&[
        "kubeconfig",
        "user",
        "--config",
        &config,
        &name,
        "--org=system:nodes",
        &validity,
    ])?;
    let file = folder.kubeconfig(&format!("node-{node}"));
    write_for_this_machine(folder, Kubeconfig::from_yaml(&text)?, &file)?;
    Ok(file)
}

/// A client for one kubeconfig.
pub async fn client(kubeconfig: &Path) -> Result<Client> {
    let content = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("cannot read {}", kubeconfig.display()))?;
    let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// kubeadm writes the address that guests use; here the same server is 127.0.0.1. (JSON is YAML, so
/// kubectl reads it too.)
fn write_for_this_machine(folder: &Folder, mut content: Kubeconfig, file: &Path) -> Result<()> {
    for cluster in content
        .clusters
        .iter_mut()
        .filter_map(|named| named.cluster.as_mut())
    {
        cluster.server = Some(format!("https://127.0.0.1:{}", folder.ports.api));
    }
    let fresh = file.with_extension("new");
    fs::write(&fresh, serde_json::to_string_pretty(&content)?)?;
    Ok(fs::rename(fresh, file)?)
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
