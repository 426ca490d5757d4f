//! What a kubeadm would write, rendered offline into a folder of its own: the one of the running
//! system, or the one of an image that is deployed and not booted.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use host::programs::{self, Program};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::folder::Folder;

/// kubeadm renders all manifests in less than a second each, on a machine that is not busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// kubeadm writes into this folder in place of /etc/kubernetes.
const RENDERED: &str = "KUBEADM_INIT_DRYRUN_DIR";

/// Which kubeadm renders. One writes other settings than another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kubeadm<'a> {
    /// The one of the running system.
    Running(&'a Folder),
    /// The one at this path.
    At(&'a Path),
}

impl Kubeadm<'_> {
    fn command(self) -> Result<std::process::Command, String> {
        match self {
            Self::At(path) => Ok(programs::alone(path, programs::PATH)),
            Self::Running(folder) => {
                let command = Program::Kubeadm.command_below(&folder.path("/"));
                command.map_err(|error| error.to_string())
            }
        }
    }
}

/// What to render.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    /// `ClusterConfiguration` of kubeadm-config, as it is.
    pub cluster: &'a str,
    /// The name of this node.
    pub node: &'a str,
    /// The address at which its API server is advertised.
    pub address: &'a str,
    /// The port of its API server.
    pub port: &'a str,
    /// Whether it has a member of etcd.
    pub etcd: bool,
    /// The proxy variables of the live manifests. kubeadm writes those of its own environment.
    pub proxies: Vec<(String, String)>,
    /// kubeadm's limits. It makes the startup probes from them.
    pub timeouts: Option<Value>,
    /// A folder of patches.
    pub patches: Option<String>,
}

/// The version of a kubeadm.
pub(crate) async fn version(kubeadm: Kubeadm<'_>) -> Result<String, String> {
    let said = run(kubeadm, &["version", "-o", "short"], None).await?;
    Ok(said.trim().to_owned())
}

/// Renders the manifests into this folder. None of the files of the node changes.
pub(crate) async fn render(
    kubeadm: Kubeadm<'_>,
    wanted: &Wanted<'_>,
    into: &Path,
) -> Result<(), String> {
    let file = into.join("kubeadm.yaml");
    let written = std::fs::write(&file, configuration(wanted));
    written.map_err(|error| format!("{}: {error}", file.display()))?;
    let config = file.display().to_string();
    let phase = |names: [&'static str; 2]| {
        let config = config.as_str();
        let all = [
            "init",
            "phase",
            names[0],
            names[1],
            "--dry-run",
            "--config",
            config,
        ];
        let environment = Environment {
            rendered: into,
            proxies: &wanted.proxies,
        };
        async move { run(kubeadm, &all, Some(environment)).await.map(drop) }
    };
    phase(["control-plane", "all"]).await?;
    if wanted.etcd {
        phase(["etcd", "local"]).await?;
    }
    Ok(())
}

/// JSON is YAML, so that no name needs quotation marks of its own.
fn configuration(wanted: &Wanted<'_>) -> String {
    let mut init = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "localAPIEndpoint": {
            "advertiseAddress": wanted.address,
            "bindPort": wanted.port.parse::<u16>().unwrap_or(6443),
        },
        "nodeRegistration": { "name": wanted.node },
    });
    if let Some(timeouts) = &wanted.timeouts {
        init["timeouts"] = timeouts.clone();
    }
    if let Some(patches) = &wanted.patches {
        init["patches"] = json!({ "directory": patches });
    }
    format!("{init}\n---\n{}\n", wanted.cluster)
}

/// What kubeadm gets from its environment.
struct Environment<'a> {
    rendered: &'a Path,
    proxies: &'a [(String, String)],
}

/// Whether kubeadm would copy this variable into the manifests.
pub(crate) fn is_proxy(variable: &str) -> bool {
    variable.to_ascii_lowercase().ends_with("_proxy")
}

async fn run(
    kubeadm: Kubeadm<'_>,
    arguments: &[&str],
    environment: Option<Environment<'_>>,
) -> Result<String, String> {
    let command = kubeadm.command()?;
    let program = command.get_program().to_owned();
    let mut command = Command::from(command);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_proxy) {
            command.env_remove(name);
        }
    }
    if let Some(Environment { rendered, proxies }) = environment {
        command
            .env(RENDERED, rendered)
            .envs(proxies.iter().cloned());
    }
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = ended
        .map_err(|_| {
            format!(
                "kubeadm {} takes longer than {} s",
                arguments.join(" "),
                PATIENCE.as_secs()
            )
        })?
        .map_err(|error| format!("kubeadm: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(programs::ended(
        Path::new(&program),
        output.status,
        &output.stderr,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_has_both_parts() {
        let wanted = Wanted {
            cluster: "kind: ClusterConfiguration\nkubernetesVersion: v1.35.4",
            node: "cp-1",
            address: "10.0.0.1",
            port: "6444",
            etcd: true,
            proxies: Vec::new(),
            timeouts: Some(json!({ "upgradeManifests": "5m" })),
            patches: None,
        };
        let text = configuration(&wanted);
        let parts: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        assert_eq!(parts[0]["localAPIEndpoint"]["bindPort"], 6444);
        assert_eq!(parts[0]["nodeRegistration"]["name"], "cp-1");
        assert_eq!(parts[0]["timeouts"]["upgradeManifests"], "5m");
        assert_eq!(parts[1]["kubernetesVersion"], "v1.35.4");
    }
}
