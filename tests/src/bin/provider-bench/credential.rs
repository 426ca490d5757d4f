//! The content of the Cluster's kubeconfig Secret: a token of an account with only the rights of
//! careen-provider in the workload cluster. The API server counts requests by the name of this
//! account.

use anyhow::Result;
use k8s_openapi::ByteString;
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::objects;

use crate::machines::SPACE;
use crate::server::Server;

/// Namespace and name of the account.
const ACCOUNT: (&str, &str) = ("default", "careen-bench");

/// The user name by which the API server knows the account.
pub fn user() -> String {
    format!("system:serviceaccount:{}:{}", ACCOUNT.0, ACCOUNT.1)
}

/// Creates the account with its rights, and returns the Secret for the management cluster.
pub async fn secret(workload: &Server) -> Result<Value> {
    objects::apply_all(&workload.admin, &rights()).await?;
    let content = kubeconfig_of(&workload.plane, &workload.admin, ACCOUNT).await?;
    let value = ByteString(serde_json::to_vec(&content)?);
    let name = format!("{SPACE}{}", names::KUBECONFIG_SUFFIX);
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": SPACE },
        "data": { names::KUBECONFIG_KEY: value },
    }))
}

fn rights() -> [Value; 3] {
    let (namespace, name) = ACCOUNT;
    let group = "rbac.authorization.k8s.io";
    let version = format!("{group}/v1");
    let rule = |resource: &str, verbs: &[&str]| json!({ "apiGroups": [""], "resources": [resource], "verbs": verbs });
    let rules = [
        rule("nodes", &["get", "list", "watch", "patch"]),
        rule("pods", &["list", "watch"]),
    ];
    [
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace } }),
        json!({ "apiVersion": version, "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules }),
        json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        }),
    ]
}
