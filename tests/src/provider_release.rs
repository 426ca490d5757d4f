//! What an operator installs for careen-provider: its objects, its account and its catalogue.

use anyhow::Result;
use kube::Client;
use kube::config::Kubeconfig;
use provider::{manifests, names, rights};
use serde_json::{Value, json};
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::{infrastructure, install_definitions, objects};
use testkit::control_plane::ControlPlane;

use crate::fleet::images::{GOOD, Image};

/// Applies the namespace, definition, rights, and a catalogue of the fleet's good images.
///
/// # Errors
/// When the API server refuses an object.
pub async fn install(admin: &Client) -> Result<()> {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": manifests::NAMESPACE } });
    objects::apply(admin, &space).await?;
    install_definitions(admin, &[provider::catalogue::manifest()?]).await?;
    objects::apply_all(admin, &rights::objects(manifests::NAMESPACE)).await?;
    objects::apply(admin, &infrastructure::rights()).await?;
    fleet_catalogue(admin, &GOOD).await
}

/// Makes these images the only ones for the Machines of all Clusters.
///
/// # Errors
/// When the API server refuses.
pub async fn fleet_catalogue(admin: &Client, images: &[Image]) -> Result<()> {
    let images: Vec<Value> = images.iter().map(|image| entry(*image, None)).collect();
    apply_catalogue(admin, "fleet", &images).await
}

/// Names another image for the version that it carries, only for the Machines of one Cluster.
///
/// # Errors
/// When the API server refuses.
pub async fn catalogue(admin: &Client, cluster: &str, image: Image) -> Result<()> {
    apply_catalogue(admin, cluster, &[entry(image, Some(cluster))]).await
}

async fn apply_catalogue(admin: &Client, name: &str, images: &[Value]) -> Result<()> {
    let object = json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "ImageCatalogue",
        "metadata": { "name": name }, "spec": { "images": images },
    });
    objects::apply(admin, &object).await?;
    Ok(())
}

fn entry(image: Image, cluster: Option<&str>) -> Value {
    let mut entry = json!({ "kubernetesVersion": image.version, "image": image.reference() });
    if let Some(cluster) = cluster {
        let labels = json!({ names::CLUSTER_LABEL: cluster });
        entry["machineSelector"] = json!({ "matchLabels": labels });
    }
    entry
}

/// The administrator's kubeconfig, but with a token of the provider's ServiceAccount.
///
/// # Errors
/// When the account does not exist.
pub async fn kubeconfig(plane: &ControlPlane, admin: &Client) -> Result<Kubeconfig> {
    kubeconfig_of(plane, admin, (manifests::NAMESPACE, names::MANAGER)).await
}
