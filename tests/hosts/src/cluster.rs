//! The API server of all tests of a run, and what is installed on it.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::config::KubeConfigOptions;
use kube::{Client, Config};
use provider::kinds::{self, policies};
use provider::{manifests, names, rights};
use serde_json::{Value, json};
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::{install_definitions, objects};
use testkit::control_plane::ControlPlane;
use tokio::sync::OnceCell;

/// The longest wait for anything. The machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(180);

static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

/// The control plane. The first caller starts it.
///
/// # Errors
/// When it does not start.
pub async fn plane() -> Result<&'static ControlPlane> {
    PLANE
        .get_or_try_init(|| async {
            let dir = testkit::programs::cache()?.join("hosts-tests-cluster");
            if dir.exists() {
                std::fs::remove_dir_all(&dir).context("an old cluster is in the way")?;
            }
            ControlPlane::start(&dir).await
        })
        .await
}

/// A client with the rights of a ServiceAccount only.
///
/// # Errors
/// When there is none.
pub async fn client_of(admin: &Client, namespace: &str, account: &str) -> Result<Client> {
    let content = kubeconfig_of(plane().await?, admin, (namespace, account)).await?;
    let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Installs the package, once for all tests, and waits until its policies are in force.
///
/// # Errors
/// When the API server refuses an object.
pub async fn install(admin: &Client) -> Result<()> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    INSTALLED
        .get_or_try_init(|| install_on(admin))
        .await
        .map(drop)
}

/// Installs the package, and waits until its policies are in force.
pub async fn install_on(admin: &Client) -> Result<()> {
    install_definitions(admin, &core()).await?;
    install_definitions(admin, &[provider::catalogue::manifest()?]).await?;
    install_definitions(admin, &kinds::definitions()?).await?;
    for name in [manifests::NAMESPACE, policies::REGISTRATIONS] {
        let space =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        objects::apply(admin, &space).await?;
    }
    objects::apply_all(admin, &rights::objects(manifests::NAMESPACE)).await?;
    objects::apply_all(admin, &rights::of_hosts(manifests::NAMESPACE)).await?;
    objects::apply_all(admin, &policies::objects()).await?;
    until_in_force(admin).await
}

/// The API server takes up a policy a moment after it has stored it.
async fn until_in_force(admin: &Client) -> Result<()> {
    let mut template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachineTemplate",
        "metadata": { "name": "probe", "namespace": "default" },
        "spec": { "template": { "spec": { "hostName": "a" } } },
    });
    objects::apply(admin, &template).await?;
    // A new name each time: a change to what is there already is none.
    for attempt in 0..600 {
        template["spec"]["template"]["spec"]["hostName"] = json!(format!("h-{attempt}"));
        if objects::apply(admin, &template).await.is_err() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    anyhow::bail!("the policies are not in force")
}

/// Cluster API's kinds, with any content.
fn core() -> Vec<Value> {
    let core = |kind: &str| definition(names::CORE_GROUP, kind, "Namespaced");
    vec![
        core("Cluster"),
        core("Machine"),
        core("MachineDeployment"),
        core("MachinePool"),
        definition(
            names::CONTROL_PLANE_GROUP,
            "KubeadmControlPlane",
            "Namespaced",
        ),
        definition(names::RUNTIME_GROUP, "ExtensionConfig", "Cluster"),
    ]
}

fn definition(group: &str, kind: &str, scope: &str) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": scope,
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular },
            "versions": [{ "name": "v1beta2", "served": true, "storage": true, "schema": { "openAPIV3Schema": anything } }],
        },
    })
}
