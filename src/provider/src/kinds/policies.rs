//! The ValidatingAdmissionPolicies that bound the writes of hosts, registrations and
//! careen-provider, and keep templates as they are. RBAC bounds the reads: a Role for each host.

use serde_json::{Value, json};

use super::keys::{GROUP, HOSTS, VERSION};
use crate::names::{self, NAMESPACE};

/// The namespace of the accounts of the registrations, and of the tokens for hosts.
pub const REGISTRATIONS: &str = "careen-registrations";

/// How the names of a host's ServiceAccount, Role, Secret and Lease begin.
pub const OF_A_HOST: &str = "careen-host-";

/// The annotation of the dry run in which Cluster API compares templates (util/topology there).
const DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";

/// A policy and its binding. Policies are always in force: `failurePolicy` is `Fail`.
struct Policy<'a> {
    name: &'a str,
    rules: Value,
    only_if: Option<String>,
    variables: Vec<(&'a str, String)>,
    validations: Vec<(String, &'a str)>,
}

impl Policy<'_> {
    fn objects(self) -> [Value; 2] {
        let named =
            |(name, expression): (&str, String)| json!({ "name": name, "expression": expression });
        let variables: Vec<Value> = self.variables.into_iter().map(named).collect();
        let only_if = self.only_if.map(|condition| ("applies", condition));
        let conditions: Vec<Value> = only_if.into_iter().map(named).collect();
        let validation = |(expression, message): (String, &str)| json!({ "expression": expression, "message": message });
        let validations: Vec<Value> = self.validations.into_iter().map(validation).collect();
        let group = "admissionregistration.k8s.io/v1";
        let policy = json!({
            "apiVersion": group, "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": self.name },
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": { "resourceRules": self.rules },
                "matchConditions": conditions,
                "variables": variables,
                "validations": validations,
            },
        });
        let binding = json!({
            "apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": self.name },
            "spec": { "policyName": self.name, "validationActions": ["Deny"] },
        });
        [policy, binding]
    }
}

/// All policies with their bindings.
#[must_use]
pub fn objects() -> Vec<Value> {
    let all = [hosts(), registrations(), provider(), pools(), templates()];
    all.into_iter().flat_map(Policy::objects).collect()
}

fn everything(operations: &[&str]) -> Value {
    json!([{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": operations, "resources": ["*/*"] }])
}

fn is(group: &str, resource: &str, sub: &str, operation: &str) -> String {
    format!(
        "(request.resource.group == '{group}' && request.resource.resource == '{resource}' && request.?subResource.orValue('') == '{sub}' && request.operation == '{operation}')"
    )
}

fn account(name: &str) -> String {
    format!("request.userInfo.username == 'system:serviceaccount:' + {name}")
}

/// A host writes its own status, renews its own Lease, and asks for its own token. Nothing else.
fn hosts() -> Policy<'static> {
    let status = is(HOSTS, "careenhosts", "status", "UPDATE");
    let lease = is("coordination.k8s.io", "leases", "", "UPDATE");
    let token = is("", "serviceaccounts", "token", "CREATE");
    let same = |field: &str, empty: &str| {
        format!("object.{field}.orValue({empty}) == oldObject.{field}.orValue({empty})")
    };
    let unchanged = [
        same("metadata.?labels", "{}"),
        same("metadata.?annotations", "{}"),
        same("metadata.?ownerReferences", "[]"),
        same("metadata.?finalizers", "[]"),
        same("spec.?holderIdentity", "''"),
        same("spec.?leaseDurationSeconds", "0"),
    ]
    .join(" && ");
    Policy {
        name: "careen-host-writes",
        rules: everything(&["CREATE", "UPDATE", "DELETE", "CONNECT"]),
        only_if: Some(format!(
            "request.userInfo.username.startsWith('system:serviceaccount:') && request.userInfo.username.contains(':{OF_A_HOST}')"
        )),
        variables: vec![("isStatus", status), ("isLease", lease), ("isToken", token)],
        validations: vec![
            (
                "variables.isStatus || variables.isLease || variables.isToken".to_owned(),
                "a host writes only its status, its Lease and its token",
            ),
            (
                format!(
                    "{} + (variables.isStatus ? '{OF_A_HOST}' : '') + request.name",
                    account("request.namespace + ':'")
                ),
                "a host writes only what is its own",
            ),
            (
                format!("!variables.isLease || ({unchanged})"),
                "a host changes only the renewTime of its Lease",
            ),
            (
                "!variables.isToken || object.spec.expirationSeconds <= 86400".to_owned(),
                "a host asks for a token of at most 24 h",
            ),
        ],
    }
}

/// A registration creates hosts of its own namespace, and says nothing of them but who they are.
fn registrations() -> Policy<'static> {
    let created = is(HOSTS, "careenhosts", "", "CREATE");
    let mine = account(&format!(
        "'{REGISTRATIONS}:' + request.namespace + '.' + object.spec.registration"
    ));
    let absent = [
        "object.metadata.?labels.orValue({}) == {}",
        "object.metadata.?annotations.orValue({}) == {}",
        "object.metadata.?finalizers.orValue([]) == []",
        "object.metadata.?ownerReferences.orValue([]) == []",
        "!has(object.spec.claim)",
        "!has(object.spec.failureDomain)",
        "!has(object.spec.reservedFor)",
        "!object.spec.?approved.orValue(false)",
        "!object.spec.?cordoned.orValue(false)",
    ]
    .join(" && ");
    Policy {
        name: "careen-registration-writes",
        rules: everything(&["CREATE", "UPDATE", "DELETE", "CONNECT"]),
        only_if: Some(format!(
            "request.userInfo.username.startsWith('system:serviceaccount:{REGISTRATIONS}:')"
        )),
        variables: vec![("isHost", created)],
        validations: vec![
            (
                "variables.isHost".to_owned(),
                "a registration only creates CareenHosts",
            ),
            (
                format!("variables.isHost && {mine}"),
                "spec.registration must be the registration of the account, in its namespace",
            ),
            (
                format!("variables.isHost && ({absent})"),
                "a registration sets spec.registration and spec.handover only",
            ),
            (
                "variables.isHost && has(object.spec.handover)".to_owned(),
                "spec.handover must be 32 random hexadecimal digits",
            ),
        ],
    }
}

/// Careen-provider needs rights on Secrets, Roles and ServiceAccounts of all namespaces with hosts.
/// It uses them only for objects of hosts.
fn provider() -> Policy<'static> {
    let rule = |group: &str, resources: &[&str]| json!({ "apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": resources });
    Policy {
        name: "careen-provider-writes",
        rules: json!([
            rule("", &["secrets", "serviceaccounts", "serviceaccounts/token"]),
            rule("rbac.authorization.k8s.io", &["roles", "rolebindings"]),
        ]),
        only_if: Some(account(&format!("'{NAMESPACE}:{}'", names::MANAGER))),
        variables: Vec::new(),
        validations: vec![(
            format!(
                "request.namespace in ['{NAMESPACE}', '{REGISTRATIONS}'] ? request.resource.resource in ['secrets', 'serviceaccounts'] : request.name.startsWith('{OF_A_HOST}')"
            ),
            "careen-provider writes only the Secrets, ServiceAccounts and Roles of hosts",
        )],
    }
}

/// Careen-provider makes and deletes machines of pools. It needs the right for all machines.
fn pools() -> Policy<'static> {
    let rule = |group: &str, operations: &[&str], resource: &str| json!({ "apiGroups": [group], "apiVersions": ["*"], "operations": operations, "resources": [resource] });
    Policy {
        name: "careen-provider-machines",
        rules: json!([
            rule(GROUP, &["CREATE", "DELETE"], "careenmachines"),
            rule(names::CORE_GROUP, &["CREATE", "DELETE"], "machines"),
        ]),
        only_if: Some(account(&format!("'{NAMESPACE}:{}'", names::MANAGER))),
        variables: Vec::new(),
        validations: vec![(
            format!(
                "'{}' in (request.operation == 'DELETE' ? oldObject : object).metadata.?labels.orValue({{}})",
                names::POOL_LABEL
            ),
            "careen-provider creates and deletes only the machines of pools",
        )],
    }
}

/// Machines are made from a template by its name, so a change of it would make two kinds of
/// machines. CEL in the CRD does not see a dry run, and core's must pass.
fn templates() -> Policy<'static> {
    let resources = [
        "careenclustertemplates",
        "careenmachinetemplates",
        "careenmachinepooltemplates",
    ];
    Policy {
        name: "careen-templates",
        rules: json!([{ "apiGroups": [GROUP], "apiVersions": [VERSION], "operations": ["UPDATE"], "resources": resources }]),
        only_if: None,
        variables: Vec::new(),
        validations: vec![(
            format!(
                "object.spec == oldObject.spec || (request.?dryRun.orValue(false) && '{DRY_RUN}' in object.metadata.?annotations.orValue({{}}))"
            ),
            "a template cannot be changed: create another one",
        )],
    }
}
