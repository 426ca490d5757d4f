//! The definitions of Cluster API's kinds, limited to the fields that a provider reads, and the
//! objects of the provider's release.

use anyhow::Result;
use kube::Client;
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::install_definitions;
use tokio::sync::{Mutex, OnceCell};

use crate::provider_release::install;

pub(super) const INFRA_GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// Installs the definitions and the objects of the provider's release, once for all tests.
///
/// # Errors
/// When the API server refuses.
pub async fn install_all(admin: &Client) -> Result<()> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    static ONE: Mutex<()> = Mutex::const_new(());
    let _one = ONE.lock().await;
    let install = || install_on(admin);
    INSTALLED.get_or_try_init(install).await.map(drop)
}

/// Does the same on an API server that no other test uses.
///
/// # Errors
/// When the API server refuses.
pub async fn install_on(admin: &Client) -> Result<()> {
    install_definitions(admin, &definitions()).await?;
    install(admin).await
}

fn definitions() -> Vec<Value> {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let core = |kind: &str| definition(names::CORE_GROUP, kind, "Namespaced", &anything);
    let mut infra = definition(INFRA_GROUP, "HostMachine", "Namespaced", &infra_schema());
    infra["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
    vec![
        core("Cluster"),
        core("Machine"),
        core("MachineDeployment"),
        definition(
            names::CONTROL_PLANE_GROUP,
            "KubeadmControlPlane",
            "Namespaced",
            &anything,
        ),
        definition(
            names::RUNTIME_GROUP,
            "ExtensionConfig",
            "Cluster",
            &anything,
        ),
        infra,
    ]
}

fn definition(group: &str, kind: &str, scope: &str, schema: &Value) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": scope,
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular },
            "versions": [{
                "name": "v1beta2", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

/// A schema that rejects Careen's condition if the object's spec requests that.
fn infra_schema() -> Value {
    let text = json!({ "type": "string", "maxLength": 1000 });
    let condition = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "type": text, "status": text, "reason": text },
    });
    let rule = "!has(self.spec.refuses) || !self.spec.refuses || !has(self.status) || !has(self.status.conditions) \
                || !self.status.conditions.exists(c, c.type == 'InplaceUpgrade')";
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": { "type": "object", "properties": { "refuses": { "type": "boolean" } } },
            "status": {
                "type": "object",
                "properties": {
                    "version": text,
                    "conditions": { "type": "array", "maxItems": 16, "items": condition },
                },
            },
        },
        "x-kubernetes-validations": [{ "rule": rule, "message": "this one keeps its conditions" }],
    })
}
