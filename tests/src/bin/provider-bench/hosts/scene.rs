//! One real API server with everything that the infrastructure provider's package installs.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use careen_tests::management::definitions;
use kube::Client;
use provider::kinds::{self, policies};
use provider::{manifests, names, rights};
use serde_json::{Value, json};
use testkit::cluster_api::{install_definitions, objects};
use testkit::control_plane::ControlPlane;

use super::objects::SPACE;
use crate::process::Provider;
use crate::server::folder;

/// How long anything may make no progress.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The cluster.
pub struct Scene {
    /// It has all components: its controller manager aggregates the provider's rights.
    pub plane: ControlPlane,
    /// Its administrator.
    pub admin: Client,
}

impl Scene {
    /// A new cluster without hosts.
    pub async fn start() -> Result<Self> {
        let plane = ControlPlane::start(&folder("hosts")?).await?;
        let admin = plane.client().await?;
        definitions::install_on(&admin).await?;
        install_definitions(&admin, &[machine_pools()]).await?;
        install_definitions(&admin, &kinds::definitions()?).await?;
        for name in [SPACE, policies::REGISTRATIONS] {
            let space =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            objects::apply(&admin, &space).await?;
        }
        objects::apply_all(&admin, &rights::of_hosts(manifests::NAMESPACE)).await?;
        objects::apply_all(&admin, &policies::objects()).await?;
        Ok(Self { plane, admin })
    }

    /// Starts careen-provider with these arguments besides.
    pub async fn provider(&self, program: &Path, more: &[&str]) -> Result<Provider> {
        Provider::start_with(program, &self.plane, &self.admin, more).await
    }
}

/// Cluster API's kind, with any content.
fn machine_pools() -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("machinepools.{}", names::CORE_GROUP) },
        "spec": {
            "group": names::CORE_GROUP, "scope": "Namespaced",
            "names": { "kind": "MachinePool", "listKind": "MachinePoolList", "plural": "machinepools", "singular": "machinepool" },
            "versions": [{ "name": "v1beta2", "served": true, "storage": true, "schema": { "openAPIV3Schema": anything } }],
        },
    })
}
