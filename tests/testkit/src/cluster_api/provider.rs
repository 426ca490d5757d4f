//! careen-provider next to the managers: its release as shipped, except that the program is a
//! process on this machine instead of two pods.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use kube::Client;
use serde_json::{Value, json};

use super::account::kubeconfig_of;
use super::probe::{self, PATIENCE};
use super::{definitions, infrastructure, manifests, objects};
use crate::control_plane::{ControlPlane, ports};
use crate::process::Process;
use crate::programs;

/// The name of its ServiceAccount and of its ExtensionConfig.
const NAME: &str = "careen-provider";

/// The namespace in its release.
const NAMESPACE: &str = "careen-system";

/// The catalogue of the rig; see [`Provider::catalogue`].
pub const CATALOGUE: &str = "rig";

/// Its releases, of which a management cluster has one.
const RUNTIME_EXTENSION: &[&str] = &["provider/runtime-extension-components.yaml"];
const INFRASTRUCTURE: &[&str] = &[
    "infrastructure/infrastructure-components.yaml",
    "infrastructure/careen-registrations.yaml",
];

/// The kinds in the release that are only for pods.
const FOR_PODS: [&str; 3] = ["Service", "PodDisruptionBudget", "Deployment"];

/// The running provider. Dropping it kills it.
pub struct Provider {
    admin: Client,
    metrics: u16,
    process: Process,
}

impl Provider {
    /// Installs its release, starts it, and waits until core has discovered its hooks. Core's own
    /// definitions must exist.
    ///
    /// # Errors
    ///
    /// Fails when it does not build, the API server rejects an object, or core does not discover
    /// it.
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        Self::start_as(plane, RUNTIME_EXTENSION, &[]).await
    }

    /// The same with its infrastructure provider.
    ///
    /// # Errors
    ///
    /// As [`Provider::start`].
    pub async fn start_with_hosts(plane: &ControlPlane) -> Result<Self> {
        Self::start_as(plane, INFRASTRUCTURE, &["--infrastructure"]).await
    }

    async fn start_as(plane: &ControlPlane, release: &[&str], more: &[&str]) -> Result<Self> {
        let program = program()?;
        let admin = plane.client().await?;
        let [hooks, metrics] = ports::free()?;
        for file in release {
            install(&admin, file, hooks).await?;
        }
        let more = more.iter().map(|flag| (*flag).to_owned());
        let arguments = [
            format!(
                "--kubeconfig={}",
                kubeconfig(plane, &admin).await?.display()
            ),
            format!("--hook-address=127.0.0.1:{hooks}"),
            format!("--metrics-address=127.0.0.1:{metrics}"),
        ];
        let arguments: Vec<String> = arguments.into_iter().chain(more).collect();
        let log = plane.dir().join("logs/careen-provider.log");
        let mut this = Self {
            metrics,
            process: Process::start(&program, &arguments, &log)?,
            admin,
        };
        let discovered = until_discovered(&this.admin).await;
        // The exit of the program explains more than core, which does not find it.
        this.check()?;
        discovered.map(|()| this)
    }

    /// Succeeds while it runs.
    ///
    /// # Errors
    ///
    /// Fails when it has ended. The message names its log and repeats the last lines.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// Sets the image of a version, replacing the whole catalogue.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses.
    pub async fn catalogue(&self, version: &str, image: &str) -> Result<()> {
        let object = json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "ImageCatalogue", "metadata": { "name": CATALOGUE },
            "spec": { "images": [{ "kubernetesVersion": version, "image": image }] },
        });
        objects::apply(&self.admin, &object).await?;
        Ok(())
    }

    /// The number of answered calls of a hook.
    ///
    /// # Errors
    ///
    /// Fails when its metrics do not say.
    pub async fn answered(&self, hook: &str) -> Result<u64> {
        let text = probe::get(self.metrics, "/metrics").await?;
        let counter = format!("careen_provider_hook_seconds_count{{hook=\"{hook}\"}} ");
        let found = text.lines().find_map(|line| line.strip_prefix(&counter));
        // A hook that was never called is not listed.
        found.map_or(Ok(0), |count| {
            let count = count.trim().parse();
            count.with_context(|| format!("no count of {hook}"))
        })
    }
}

/// The program: `$CAREEN_PROVIDER` if set, else built from this source tree (a minute or two the
/// first time).
///
/// # Errors
///
/// Fails when it does not compile.
pub fn program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("CAREEN_PROVIDER") {
        return Ok(program.into());
    }
    programs::ours(NAME)
}

/// The source tree of this crate.
fn source() -> &'static Path {
    programs::home().parent().unwrap_or(Path::new("/"))
}

/// Applies in the order of the file, because later objects are in the namespace that comes first.
async fn install(admin: &Client, file: &str, hooks: u16) -> Result<()> {
    let file = source().join("packaging").join(file);
    for mut object in manifests::read(&file)? {
        match object["kind"].as_str().unwrap_or_default() {
            kind if FOR_PODS.contains(&kind) => continue,
            "CustomResourceDefinition" => definitions::install(admin, &[object]).await?,
            "ExtensionConfig" => {
                object["spec"]["clientConfig"] =
                    json!({ "url": format!("https://127.0.0.1:{hooks}") });
                objects::apply(admin, &object).await?;
            }
            _ => drop(objects::apply(admin, &object).await?),
        }
    }
    objects::apply(admin, &infrastructure::rights()).await?;
    Ok(())
}

/// The administrator's kubeconfig with a token of its ServiceAccount. It has only the permissions
/// of its release.
async fn kubeconfig(plane: &ControlPlane, admin: &Client) -> Result<PathBuf> {
    let content = kubeconfig_of(plane, admin, (NAMESPACE, NAME)).await?;
    let file = plane
        .admin_kubeconfig()
        .with_file_name("careen-provider.conf");
    fs::write(&file, serde_json::to_string_pretty(&content)?)?;
    Ok(file)
}

/// Waits until core has discovered careen-provider's hooks.
///
/// # Errors
///
/// Fails when it has not in time; the message shows the status of the ExtensionConfig.
pub async fn until_discovered(admin: &Client) -> Result<()> {
    let kind = objects::kind("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig")?;
    let api = objects::api(admin, &kind, None);
    let ask = || async {
        let status = api.get(NAME).await?.data["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let discovered = |one: &Value| one["type"] == "Discovered" && one["status"] == "True";
        ensure!(conditions.iter().any(discovered), "{status}");
        Ok(())
    };
    objects::until("careen-provider's hooks discovered", PATIENCE, ask).await
}
