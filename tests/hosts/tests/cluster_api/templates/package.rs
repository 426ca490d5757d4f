//! The package in the tree is one for clusterctl.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use provider::manifests;
use serde_json::Value;
use testkit::cluster_api::clusterctl::{Clusterctl, PROVIDER};

use super::documents;

/// The objects by kind and name, without what clusterctl sets. It also reads some kinds as Go types
/// and writes their empty fields.
fn by_name(objects: Vec<Value>) -> BTreeMap<(String, String), Value> {
    let each = objects.into_iter().map(|mut object| {
        let metadata = object["metadata"].take();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = (text(&object["kind"]), text(&metadata["name"]));
        let is_typed = matches!(&*key.0, "CustomResourceDefinition" | "Deployment");
        (key, if is_typed { Value::Null } else { object })
    });
    each.collect()
}

/// clusterctl refuses a second Namespace, and moves all other objects into the first one.
#[tokio::test]
async fn package_is_one_that_clusterctl_takes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clusterctl = Clusterctl::with_release(folder.path())?;
    let line = ["generate", "provider", "--infrastructure", PROVIDER];
    let taken = documents(&clusterctl.run(&line, &[])?)?;
    let package = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging/infrastructure/infrastructure-components.yaml");
    let package = testkit::cluster_api::documents(&package)?;
    for object in &package {
        let space = object["metadata"]["namespace"].as_str();
        ensure!(
            space.is_none_or(|space| space == manifests::NAMESPACE),
            "{object}"
        );
    }
    ensure!(by_name(taken) == by_name(package), "clusterctl changes it");
    Ok(())
}
