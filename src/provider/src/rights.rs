//! The provider's RBAC rules, which the manifests carry. Tests run with only these rights, so any
//! other access fails.

use serde_json::{Value, json};

use crate::kinds::{self, policies};
use crate::names;

/// An RBAC rule.
struct Rule {
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

/// The objects that belong only to the provider, by name. The provider may not write other Leases
/// and Secrets, nor read other ExtensionConfigs.
#[derive(Clone, Copy, Debug)]
pub struct Ours<'a> {
    /// The Lease for the election.
    pub lease: &'a str,
    /// The Secret with the certificate that careen-provider makes.
    pub secret: &'a str,
    /// The ExtensionConfig whose settings careen-provider reads.
    pub extension_config: &'a str,
}

/// The default names, as the flags have them.
const SHIPPED: Ours<'static> = Ours {
    lease: names::MANAGER,
    secret: names::TLS_SECRET,
    extension_config: names::MANAGER,
};

/// Rights in the whole management cluster.
const CLUSTER: &[Rule] = &[
    Rule {
        groups: &[names::CORE_GROUP],
        resources: &["clusters", "machinedeployments"],
        verbs: &["get", "list", "watch"],
    },
    // To see whether one is paused.
    Rule {
        groups: &[names::CONTROL_PLANE_GROUP],
        resources: &["kubeadmcontrolplanes"],
        verbs: &["get", "list", "watch"],
    },
    // For the provider's mark and the skip-remediation annotation, and to remove the requesting
    // annotation.
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
    Rule {
        groups: &["events.k8s.io"],
        resources: &["events"],
        verbs: &["create"],
    },
    // `<cluster>-kubeconfig`, read by name and never listed.
    Rule {
        groups: &[""],
        resources: &["secrets"],
        verbs: &["get"],
    },
];

/// InfraMachines of the default group. An operator who installs another infrastructure provider
/// adds the rules for its group: a ClusterRole with [`AGGREGATE`] is aggregated.
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

/// Rights of the infrastructure provider. Those that a host has are among them, because nobody can
/// grant what he does not have. A policy bounds the writes to objects of hosts
/// ([`crate::kinds::policies`]).
const HOSTS: &[Rule] = &[
    Rule {
        groups: &[names::CORE_GROUP],
        resources: &["machinepools"],
        verbs: &["get", "list", "watch"],
    },
    // A policy bounds both to the machines of pools.
    Rule {
        groups: &[names::CORE_GROUP],
        resources: &["machines"],
        verbs: &["delete"],
    },
    Rule {
        groups: &[kinds::GROUP],
        resources: &["careenmachines"],
        verbs: &["create", "delete"],
    },
    Rule {
        groups: &[kinds::GROUP],
        resources: &[
            "careenclusters",
            "careenmachinepools",
            "careenmachines",
            "careenmachinetemplates",
        ],
        verbs: &["get", "list", "watch", "patch"],
    },
    Rule {
        groups: &[kinds::HOSTS],
        resources: &["careenhosts", "hostregistrations"],
        verbs: &["get", "list", "watch", "patch"],
    },
    Rule {
        groups: &[kinds::HOSTS],
        resources: &["careenhosts/status", "hostregistrations/status"],
        verbs: &["get", "patch"],
    },
    Rule {
        groups: &["coordination.k8s.io"],
        resources: &["leases"],
        verbs: &["get", "list", "watch", "create", "patch"],
    },
    Rule {
        groups: &[""],
        resources: &["serviceaccounts"],
        verbs: &["get", "create", "patch"],
    },
    Rule {
        groups: &[""],
        resources: &["serviceaccounts/token"],
        verbs: &["create"],
    },
    Rule {
        groups: &["rbac.authorization.k8s.io"],
        resources: &["roles", "rolebindings"],
        verbs: &["get", "create", "patch"],
    },
    Rule {
        groups: &[""],
        resources: &["secrets"],
        verbs: &["create", "patch"],
    },
];

/// The label of ClusterRoles that are aggregated into the provider's.
pub const AGGREGATE: &str = "careen.dev/aggregate-to-provider";

fn rules(of: &[Rule]) -> Value {
    let rule = |rule: &Rule| json!({ "apiGroups": rule.groups, "resources": rule.resources, "verbs": rule.verbs });
    of.iter().map(rule).collect()
}

/// A rule for one named object. A create request has no name yet when it is authorized, so creation
/// is a separate rule.
fn named(group: &str, resource: &str, name: &str, verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": verbs })
}

fn made(group: &str, resource: &str) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": ["create"] })
}

/// Rights in the provider's own namespace.
fn in_own_namespace(ours: &Ours<'_>) -> Value {
    const LEASES: &str = "coordination.k8s.io";
    json!([
        made(LEASES, "leases"),
        named(LEASES, "leases", ours.lease, &["get", "update"]),
        made("", "secrets"),
        named("", "secrets", ours.secret, &["get", "update"]),
    ])
}

const GROUP: &str = "rbac.authorization.k8s.io";

fn object(kind: &str, metadata: &Value, more: Value) -> Value {
    let mut object =
        json!({ "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata });
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// A role of this kind, bound to the provider's ServiceAccount.
fn bound(kind: &str, metadata: &Value, namespace: &str, more: Value) -> [Value; 2] {
    let account =
        json!([{ "kind": "ServiceAccount", "name": names::MANAGER, "namespace": namespace }]);
    let role = json!({ "apiGroup": GROUP, "kind": kind, "name": metadata["name"] });
    let binding = json!({ "roleRef": role, "subjects": account });
    [
        object(kind, metadata, more),
        object(&format!("{kind}Binding"), metadata, binding),
    ]
}

/// All objects that grant the provider its rights in the management cluster, as a ServiceAccount of
/// `namespace`.
#[must_use]
pub fn objects(namespace: &str) -> Vec<Value> {
    let name = names::MANAGER;
    let part = |suffix: &str, rules: Value| {
        let metadata =
            json!({ "name": format!("{name}-{suffix}"), "labels": { AGGREGATE: "true" } });
        object("ClusterRole", &metadata, json!({ "rules": rules }))
    };
    let aggregated = json!({
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { AGGREGATE: "true" } }] },
        "rules": [],
    });
    let mut all = vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace } }),
        part("core", rules(CLUSTER)),
        part("infrastructure", rules(INFRA)),
    ];
    all.extend(bound(
        "ClusterRole",
        &json!({ "name": name }),
        namespace,
        aggregated,
    ));
    all.extend(for_ours(namespace, "own", &SHIPPED));
    all
}

/// The rights to the provider's own objects if they have other names than the default
/// (`--lease-name`, `--tls-secret`, `--extension-config`).
#[must_use]
pub fn for_ours(namespace: &str, suffix: &str, ours: &Ours<'_>) -> Vec<Value> {
    let name = format!("{}-{suffix}", names::MANAGER);
    // For the settings.
    let extension = named(
        names::RUNTIME_GROUP,
        "extensionconfigs",
        ours.extension_config,
        &["get"],
    );
    let everywhere = bound(
        "ClusterRole",
        &json!({ "name": name }),
        namespace,
        json!({ "rules": [extension] }),
    );
    let within = bound(
        "Role",
        &json!({ "name": name, "namespace": namespace }),
        namespace,
        json!({ "rules": in_own_namespace(ours) }),
    );
    everywhere.into_iter().chain(within).collect()
}

/// All objects that grant rights for hosts: to the provider, and to the registrations. The provider
/// makes a Role for each host ([`host_role`]).
#[must_use]
pub fn of_hosts(namespace: &str) -> Vec<Value> {
    let metadata =
        json!({ "name": format!("{}-hosts", names::MANAGER), "labels": { AGGREGATE: "true" } });
    let mut all = vec![object(
        "ClusterRole",
        &metadata,
        json!({ "rules": rules(HOSTS) }),
    )];
    // To remove the token for a host, once the host has it, and the account of a registration
    // that is deleted.
    let cleaner = json!([{ "apiGroups": [""], "resources": ["secrets", "serviceaccounts"], "verbs": ["delete"] }]);
    let metadata = json!({ "name": names::MANAGER, "namespace": policies::REGISTRATIONS });
    all.extend(bound(
        "Role",
        &metadata,
        namespace,
        json!({ "rules": cleaner }),
    ));
    all.extend(of_registrations());
    all
}

/// A registration creates hosts; a policy says which. It reads a Secret whose name it knows, and
/// lists none: the name is random, and the host made it up.
fn of_registrations() -> [Value; 4] {
    let name = policies::REGISTRATIONS;
    let members = json!([{ "apiGroup": GROUP, "kind": "Group", "name": format!("system:serviceaccounts:{name}") }]);
    let create =
        json!([{ "apiGroups": [kinds::HOSTS], "resources": ["careenhosts"], "verbs": ["create"] }]);
    let read = json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }]);
    let everywhere = json!({ "name": name });
    let within = json!({ "name": name, "namespace": name });
    let reference = |kind: &str| json!({ "apiGroup": GROUP, "kind": kind, "name": name });
    [
        object("ClusterRole", &everywhere, json!({ "rules": create })),
        object(
            "ClusterRoleBinding",
            &everywhere,
            json!({ "roleRef": reference("ClusterRole"), "subjects": members }),
        ),
        object("Role", &within, json!({ "rules": read })),
        object(
            "RoleBinding",
            &within,
            json!({ "roleRef": reference("Role"), "subjects": members }),
        ),
    ]
}

/// The Role of one host, and its binding: its own CareenHost, Secret, Lease and account, by name.
#[must_use]
pub fn host_role(namespace: &str, host: &str) -> [Value; 2] {
    let name = format!("{}{host}", policies::OF_A_HOST);
    let metadata = json!({ "name": name, "namespace": namespace });
    let rules = json!([
        named(kinds::HOSTS, "careenhosts", host, &["get", "list", "watch"]),
        named(kinds::HOSTS, "careenhosts/status", host, &["get", "patch"]),
        named("", "secrets", &name, &["get"]),
        named("coordination.k8s.io", "leases", &name, &["get", "patch"]),
        named("", "serviceaccounts/token", &name, &["create"]),
    ]);
    let account = json!([{ "kind": "ServiceAccount", "name": name, "namespace": namespace }]);
    let role = json!({ "apiGroup": GROUP, "kind": "Role", "name": name });
    [
        object("Role", &metadata, json!({ "rules": rules })),
        object(
            "RoleBinding",
            &metadata,
            json!({ "roleRef": role, "subjects": account }),
        ),
    ]
}
