//! What we may do, and nothing else: the rules that the manifests carry. Tests run with these rights alone, so that whatever is
//! used and not here fails.

use serde_json::{Value, json};

use crate::names;

/// A rule.
struct Rule {
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

/// In the whole management cluster.
const CLUSTER: &[Rule] = &[
    Rule {
        groups: &[names::CORE_GROUP],
        resources: &["clusters", "machinedeployments"],
        verbs: &["get", "list", "watch"],
    },
    // Whether one is paused.
    Rule {
        groups: &[names::CONTROL_PLANE_GROUP],
        resources: &["kubeadmcontrolplanes"],
        verbs: &["get", "list", "watch"],
    },
    // Our mark and the annotation against remediation; taking the asking annotation off.
    Rule {
        groups: &[names::CORE_GROUP],
        resources: &["machines"],
        verbs: &["get", "list", "watch", "patch"],
    },
    Rule {
        groups: &["careen.dev"],
        resources: &["imagecatalogues"],
        verbs: &["get", "list", "watch"],
    },
    Rule {
        groups: &["careen.dev"],
        resources: &["imagecatalogues/status"],
        verbs: &["patch"],
    },
    // The caBundle.
    Rule {
        groups: &[names::RUNTIME_GROUP],
        resources: &["extensionconfigs"],
        verbs: &["get", "patch"],
    },
    Rule {
        groups: &["events.k8s.io"],
        resources: &["events"],
        verbs: &["create"],
    },
    // `<cluster>-kubeconfig`, by name; never listed.
    Rule {
        groups: &[""],
        resources: &["secrets"],
        verbs: &["get"],
    },
];

/// InfraMachines of the usual group. Those of another group are added by whoever installs their provider: a ClusterRole with
/// [`AGGREGATE`] is taken in.
const INFRA: &[Rule] = &[
    Rule {
        groups: &["infrastructure.cluster.x-k8s.io"],
        resources: &["*"],
        verbs: &["get"],
    },
    Rule {
        groups: &["infrastructure.cluster.x-k8s.io"],
        resources: &["*/status"],
        verbs: &["patch"],
    },
];

/// In our own namespace.
const OWN: &[Rule] = &[
    Rule {
        groups: &["coordination.k8s.io"],
        resources: &["leases"],
        verbs: &["get", "create", "update"],
    },
    Rule {
        groups: &[""],
        resources: &["secrets"],
        verbs: &["get", "create", "update"],
    },
];

/// The label of ClusterRoles whose rules are ours too.
pub const AGGREGATE: &str = "careen.dev/aggregate-to-provider";

fn rules(of: &[Rule]) -> Value {
    let rule = |rule: &Rule| json!({ "apiGroups": rule.groups, "resources": rule.resources, "verbs": rule.verbs });
    of.iter().map(rule).collect()
}

/// Everything that gives us our rights in the management cluster, as a ServiceAccount of `namespace`.
#[must_use]
pub fn objects(namespace: &str) -> Vec<Value> {
    let name = names::MANAGER;
    let account = json!([{ "kind": "ServiceAccount", "name": name, "namespace": namespace }]);
    let group = "rbac.authorization.k8s.io";
    let version = "rbac.authorization.k8s.io/v1";
    let part = |suffix: &str, of: &[Rule]| {
        json!({
            "apiVersion": version, "kind": "ClusterRole",
            "metadata": { "name": format!("{name}-{suffix}"), "labels": { AGGREGATE: "true" } },
            "rules": rules(of),
        })
    };
    vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace } }),
        part("core", CLUSTER),
        part("infrastructure", INFRA),
        json!({
            "apiVersion": version, "kind": "ClusterRole", "metadata": { "name": name },
            "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { AGGREGATE: "true" } }] },
            "rules": [],
        }),
        json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": name }, "subjects": account,
        }),
        json!({
            "apiVersion": version, "kind": "Role", "metadata": { "name": name, "namespace": namespace }, "rules": rules(OWN),
        }),
        json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": { "name": name, "namespace": namespace },
            "roleRef": { "apiGroup": group, "kind": "Role", "name": name }, "subjects": account,
        }),
    ]
}
