//! The files of a release, generated from the code: RBAC rules, CRD, Deployment, ExtensionConfig.
//! `packaging/provider` holds them as shipped, and a test checks that they match.

use std::path::Path;

use serde_json::{Value, json};
use thiserror::Error;

use crate::kinds::{self, policies};
pub use crate::names::NAMESPACE;
use crate::{catalogue, names, rights};

/// The placeholder for the container image, until `--image` or a kustomization replaces it. Nobody
/// can pull this name, because its top-level domain is reserved for that purpose.
pub const IMAGE: &str = "registry.invalid/careen-provider:unset";

/// The namespaces of the managers that call the hooks, as clusterctl makes them.
const CALLERS: [&str; 2] = ["capi-system", "capi-kubeadm-control-plane-system"];

/// The memory limit of a replica. An honest installation takes 100 MiB for 5,000 Machines. The rest
/// is for dishonest peers: 60 MiB for hook bodies (8 of 2 MiB, of which two are parsed at once),
/// and 130 MiB for long answers of workload clusters and their copies. 100 MiB go to each of two
/// answers that are parsed at once, and 64 MiB to each of half a dozen clusters whose API servers
/// lie. More than that must end this process, and not the control plane node that it runs on.
const MEMORY: &str = "1Gi";

/// The label by which clusterctl finds the objects of a provider. This provider has the type
/// RuntimeExtensionProvider.
const PROVIDER: (&str, &str) = ("cluster.x-k8s.io/provider", "runtime-extension-careen");

/// The value of that label in the package of the infrastructure provider.
const INFRASTRUCTURE: &str = "infrastructure-careen";

/// Why no file was written.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// A file or folder could not be written.
    #[error("cannot write {path}: {error}. Use a folder that can be written.")]
    File {
        /// The file.
        path: String,
        /// The error.
        error: std::io::Error,
    },
    /// An object could not be rendered.
    #[error("cannot render {what}: {detail}. Report this fault of careen-provider.")]
    Render {
        /// The object.
        what: &'static str,
        /// The error.
        detail: String,
    },
}

/// Writes all files of a release.
///
/// # Errors
/// If the folder cannot be written.
pub fn write(dir: &Path, image: &str) -> Result<(), ManifestError> {
    for (name, text) in files(image)? {
        let path = dir.join(name);
        let failed = |error| ManifestError::File {
            path: path.display().to_string(),
            error,
        };
        std::fs::create_dir_all(dir).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)?;
    }
    Ok(())
}

/// The name and the content of each file.
///
/// # Errors
/// Never in practice: the input is built here.
pub fn files(image: &str) -> Result<Vec<(&'static str, String)>, ManifestError> {
    let crd = catalogue::manifest().map_err(|error| ManifestError::Render {
        what: "the CRD",
        detail: error.to_string(),
    })?;
    let mut components = extension(crd.clone(), image, &[]);
    components
        .iter_mut()
        .for_each(|object| label(object, PROVIDER.1));
    Ok(vec![
        ("metadata.yaml", yaml(&[metadata()])?),
        ("crd.yaml", yaml(&[crd])?),
        ("runtime-extension-components.yaml", yaml(&components)?),
        ("network-policy.yaml", yaml(&[callers()])?),
    ])
}

/// The name and the content of each file with the infrastructure provider: the runtime extension,
/// and the kinds, rights and policies for hosts. They are not part of a release yet.
///
/// # Errors
/// Never in practice: the input is built here.
pub fn infrastructure(image: &str) -> Result<Vec<(&'static str, String)>, ManifestError> {
    let failed = |error: serde_json::Error| ManifestError::Render {
        what: "the CRDs",
        detail: error.to_string(),
    };
    let crd = catalogue::manifest().map_err(failed)?;
    let mut all = extension(crd, image, &["--infrastructure"]);
    all.push(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": policies::REGISTRATIONS } }));
    all.extend(kinds::definitions().map_err(failed)?);
    all.extend(rights::of_hosts(NAMESPACE));
    all.extend(policies::objects());
    all.iter_mut()
        .for_each(|object| label(object, INFRASTRUCTURE));
    let (apart, components): (Vec<_>, Vec<_>) = all.into_iter().partition(is_of_registrations);
    Ok(vec![
        ("infrastructure-components.yaml", yaml(&components)?),
        ("careen-registrations.yaml", yaml(&apart)?),
    ])
}

/// clusterctl takes components with one Namespace, and puts all objects with a namespace into it
/// (cmd/clusterctl/client/repository/components.go in Cluster API).
fn is_of_registrations(object: &Value) -> bool {
    let space = &object["metadata"]["namespace"];
    let is_namespace = object["kind"] == "Namespace";
    let space = if is_namespace {
        &object["metadata"]["name"]
    } else {
        space
    };
    space == policies::REGISTRATIONS
}

/// The objects of the runtime extension.
fn extension(crd: Value, image: &str, flags: &[&str]) -> Vec<Value> {
    let mut components = vec![namespace(), crd];
    components.extend(rights::objects(NAMESPACE));
    components.extend([
        service(),
        disruption(),
        deployment(image, flags),
        extension_config(),
    ]);
    components
}

fn yaml(documents: &[Value]) -> Result<String, ManifestError> {
    let texts: Result<Vec<String>, _> = documents.iter().map(serde_saphyr::to_string).collect();
    let texts = texts.map_err(|error| ManifestError::Render {
        what: "YAML",
        detail: error.to_string(),
    })?;
    Ok(texts.join("---\n"))
}

fn label(object: &mut Value, provider: &str) {
    object["metadata"]["labels"][PROVIDER.0] = json!(provider);
}

/// Maps each release series to the Cluster API contract that it implements.
fn metadata() -> Value {
    json!({
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
        "kind": "Metadata",
        "releaseSeries": [{ "major": 0, "minor": 1, "contract": names::CORE_VERSION }],
    })
}

fn namespace() -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } })
}

fn selector() -> Value {
    json!({ "app": names::MANAGER })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": names::MANAGER, "namespace": NAMESPACE },
        "spec": { "selector": selector(), "ports": [{ "port": 443, "targetPort": "hooks" }] },
    })
}

/// Closes the hooks to all pods but those of core and of the kubeadm control plane manager, in the
/// namespaces that clusterctl makes. Metrics stay open, and so do the kubelet's probes, which no
/// policy closes. It is a file of its own: where the managers are elsewhere, or in the network of
/// their hosts, it would hold every rollout.
fn callers() -> Value {
    let from = json!({ "namespaceSelector": { "matchExpressions": [{
        "key": "kubernetes.io/metadata.name", "operator": "In", "values": CALLERS,
    }] } });
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": names::MANAGER, "namespace": NAMESPACE, "labels": { PROVIDER.0: PROVIDER.1 } },
        "spec": {
            "podSelector": { "matchLabels": selector() },
            "policyTypes": ["Ingress"],
            "ingress": [
                { "from": [from], "ports": [{ "port": "hooks" }] },
                { "ports": [{ "port": "metrics" }] },
            ],
        },
    })
}

/// Core exits if nobody answers at its start, so one replica must always be available.
fn disruption() -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": names::MANAGER, "namespace": NAMESPACE },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": selector() } },
    })
}

fn deployment(image: &str, flags: &[&str]) -> Value {
    let mut arguments = vec![
        "--leader-elect",
        "--hook-address=[::]:9443",
        "--metrics-address=[::]:8080",
        "--log-json",
    ];
    arguments.extend(flags);
    let from_pod = |name: &str, path: &str| json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } });
    let probe =
        |path: &str| json!({ "httpGet": { "path": path, "port": "metrics" }, "periodSeconds": 5 });
    let container = json!({
        "name": "manager",
        "image": image,
        "command": ["/careen-provider"],
        "args": arguments,
        "env": [from_pod("POD_NAMESPACE", "metadata.namespace"), from_pod("HOSTNAME", "metadata.name")],
        "ports": [{ "name": "hooks", "containerPort": 9443 }, { "name": "metrics", "containerPort": 8080 }],
        "readinessProbe": probe("/readyz"),
        "livenessProbe": probe("/healthz"),
        "resources": { "requests": { "cpu": "50m", "memory": "64Mi" }, "limits": { "memory": MEMORY } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    });
    let apart = json!({ "labelSelector": { "matchLabels": selector() }, "topologyKey": "kubernetes.io/hostname" });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": names::MANAGER, "namespace": NAMESPACE },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": selector() },
            "template": {
                "metadata": { "labels": selector() },
                "spec": {
                    "serviceAccountName": names::MANAGER,
                    "containers": [container],
                    "affinity": {
                        "podAntiAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 100, "podAffinityTerm": apart }],
                        },
                    },
                    "securityContext": { "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" } },
                    "terminationGracePeriodSeconds": 20,
                    "tolerations": [{ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule" }],
                },
            },
        },
    })
}

/// Core fills in the caBundle from the provider's Secret, and waits until that exists.
fn extension_config() -> Value {
    let secret = format!("{NAMESPACE}/{}", names::TLS_SECRET);
    json!({
        "apiVersion": format!("{}/{}", names::RUNTIME_GROUP, names::CORE_VERSION),
        "kind": "ExtensionConfig",
        "metadata": { "name": names::MANAGER, "annotations": { names::CA_FROM_SECRET: secret } },
        "spec": {
            "clientConfig": { "service": { "name": names::MANAGER, "namespace": NAMESPACE, "port": 443 } },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_policy_opens_the_hooks_to_the_managers_alone() {
        let ingress = callers()["spec"]["ingress"].clone();
        let managers = json!([{ "namespaceSelector": { "matchExpressions": [{
            "key": "kubernetes.io/metadata.name",
            "operator": "In",
            "values": ["capi-system", "capi-kubeadm-control-plane-system"],
        }] } }]);
        let hooks = json!({ "from": managers, "ports": [{ "port": "hooks" }] });
        let metrics = json!({ "ports": [{ "port": "metrics" }] });
        assert_eq!(ingress, json!([hooks, metrics]));
    }

    #[test]
    fn network_policy_selects_the_pods_and_ports_of_the_deployment() {
        let (policy, deployment) = (callers(), deployment(IMAGE, &[]));
        let template = &deployment["spec"]["template"];
        assert_eq!(
            policy["spec"]["podSelector"]["matchLabels"],
            template["metadata"]["labels"]
        );
        let ports = template["spec"]["containers"][0]["ports"].as_array();
        let names: Vec<&Value> = ports
            .into_iter()
            .flatten()
            .map(|port| &port["name"])
            .collect();
        assert_eq!(names, ["hooks", "metrics"]);
    }
}
