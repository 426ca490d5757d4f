//! A manager's CRDs and webhook configurations from upstream's module, adapted to programs that run
//! on loopback.
//!
//! Upstream does the same with kustomize inside a cluster. Conversion webhooks are left out,
//! because only one version is ever used.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::manager::Manager;

/// Labels that tell Cluster API which version of a CRD implements which contract. Upstream's
/// kustomize sets them; core's own kinds have none.
const CONTRACTS: [(&str, &str); 2] = [
    ("cluster.x-k8s.io/v1beta1", "v1beta1"),
    ("cluster.x-k8s.io/v1beta2", "v1beta2"),
];

/// The address and the CA of the webhooks.
pub struct Endpoint<'a> {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The authority, base64 of its PEM.
    pub authority: &'a str,
}

/// The CRDs of one manager.
///
/// # Errors
///
/// Fails when the folder is incomplete.
pub fn definitions(built: &Path, manager: Manager) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(built.join("crd"))? {
        for mut definition in read(&entry?.path())? {
            if manager != Manager::Core {
                for (label, versions) in CONTRACTS {
                    definition["metadata"]["labels"][label] = json!(versions);
                }
            }
            found.push(definition);
        }
    }
    Ok(found)
}

/// The webhook configurations of one manager, pointed at `endpoint`.
///
/// # Errors
///
/// Fails when the folder is incomplete.
pub fn webhooks(built: &Path, manager: Manager, endpoint: &Endpoint<'_>) -> Result<Vec<Value>> {
    let mut configurations = read(&built.join("webhook.yaml"))?;
    for configuration in &mut configurations {
        // All managers use the same name.
        let name = configuration["metadata"]["name"].as_str();
        let name = name.context("a webhook configuration without a name")?;
        configuration["metadata"]["name"] = json!(format!("{}-{name}", manager.name()));
        let webhooks = configuration["webhooks"].as_array_mut();
        for webhook in webhooks.context("a webhook configuration without webhooks")? {
            point(&mut webhook["clientConfig"], endpoint)?;
        }
    }
    Ok(configurations)
}

fn point(config: &mut Value, endpoint: &Endpoint<'_>) -> Result<()> {
    let path = config["service"]["path"].as_str();
    let path = path.context("a webhook without a path")?;
    let url = format!("https://127.0.0.1:{}{path}", endpoint.port);
    *config = json!({ "url": url, "caBundle": endpoint.authority });
    Ok(())
}

/// Every document of a YAML file.
///
/// # Errors
///
/// Fails when it cannot be read.
pub fn read(file: &Path) -> Result<Vec<Value>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
        .with_context(|| format!("{} is no YAML", file.display()))?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}
