//! The kubeconfig of the Cluster `c`, with only the rights that careen-provider uses there.

use anyhow::Result;
use hosts_tests::{Scene, plane};
use serde_json::json;
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::objects;

/// Makes the Secret. `docs/cluster-api.md` and `docs/infrastructure.md` list these rights.
pub async fn reachable(scene: &Scene) -> Result<()> {
    let name = "careen-provider-there";
    let group = "rbac.authorization.k8s.io";
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    let rules = [
        rule("", "nodes", &["list", "watch", "patch"]),
        rule("", "pods", &["list", "watch"]),
        rule("", "pods/eviction", &["create"]),
        rule("", "persistentvolumeclaims", &["get"]),
        rule("storage.k8s.io", "volumeattachments", &["list"]),
        rule("policy", "poddisruptionbudgets", &["get"]),
    ];
    let account = json!([{ "kind": "ServiceAccount", "name": name, "namespace": scene.space }]);
    for object in [
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": scene.space } }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRole",
            "metadata": { "name": name }, "rules": rules,
        }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding",
            "metadata": { "name": format!("{name}-{}", scene.space) },
            "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": name }, "subjects": account,
        }),
    ] {
        objects::apply(&scene.admin, &object).await?;
    }
    let content = kubeconfig_of(plane().await?, &scene.admin, (&scene.space, name)).await?;
    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "c-kubeconfig" },
            "stringData": { "value": serde_json::to_string(&content)? },
        }))
        .await
        .map(drop)
}
