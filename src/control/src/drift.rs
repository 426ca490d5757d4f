//! Settings of a manifest that kubeadm would not write so.
//!
//! The live manifest is compared with what the kubeadm of the running system renders for the
//! running version. A newer kubeadm would not do: each minor drops settings of its own, and these
//! are no drift.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use serde::Serialize;
use serde_json::Value;
use upgrade::control_plane::{Component, Drift};

/// Flags that kubeadm writes once for a member that joins, and never again. etcd ignores them once
/// it has data.
const OF_THE_JOIN: [&str; 2] = ["--initial-cluster", "--initial-cluster-state"];

/// Fields of a pod whose entries are compared one by one.
const OF_POD: [&str; 3] = ["containers", "initContainers", "volumes"];

/// The same, of a container. The probes are compared nowhere.
const OF_CONTAINER: [&str; 8] = [
    "args",
    "command",
    "env",
    "livenessProbe",
    "name",
    "readinessProbe",
    "startupProbe",
    "volumeMounts",
];

/// What differs in one manifest.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// What the live one has, and kubeadm would drop or change.
    pub drift: Vec<Drift>,
    /// kubeadm would write something else, also where the live one has nothing.
    pub rewritten: bool,
}

/// Compares two manifests of one component.
pub(crate) fn compare(component: Component, live: &Pod, rendered: &Pod) -> Difference {
    let (live, rendered) = (settings(component, live), settings(component, rendered));
    let drift = live.iter().filter_map(|(name, value)| {
        let written = rendered.get(name);
        (written != Some(value)).then(|| Drift {
            component,
            setting: name.as_str().into(),
            changed: written.is_some(),
        })
    });
    Difference {
        drift: drift.collect(),
        rewritten: live != rendered,
    }
}

/// The settings of a manifest by their names. Probes are not among them: kubeadm makes them from
/// the timeouts of its first run, which no object of the cluster keeps.
fn settings(component: Component, pod: &Pod) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let annotations = pod.metadata.annotations.iter().flatten();
    all.extend(annotations.map(|(key, value)| (format!("annotation {key}"), value.clone())));
    let labels = pod.metadata.labels.iter().flatten();
    all.extend(labels.map(|(key, value)| (format!("label {key}"), value.clone())));
    let Some(spec) = &pod.spec else {
        return all;
    };
    all.extend(others(spec, &OF_POD).map(|(name, value)| (format!("pod {name}"), value)));
    for volume in spec.volumes.iter().flatten() {
        all.insert(format!("volume {}", volume.name), written(volume));
    }
    for container in spec
        .containers
        .iter()
        .chain(spec.init_containers.iter().flatten())
    {
        match container.name == component.name() {
            true => of_container(container, &mut all),
            false => {
                all.insert(format!("container {}", container.name), written(container));
            }
        }
    }
    all
}

fn of_container(container: &Container, all: &mut BTreeMap<String, String>) {
    all.extend(others(container, &OF_CONTAINER));
    let words = container.command.iter().chain(&container.args).flatten();
    for word in words {
        // The program, or a shell around it.
        if !word.starts_with("--") {
            let program = all.entry("command".to_owned()).or_default();
            program.push_str(word);
            program.push('\n');
            continue;
        }
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if !OF_THE_JOIN.contains(&name) {
            // A flag may come twice, and then both count for some.
            let values: &mut String = all.entry(name.to_owned()).or_default();
            values.push_str(value);
            values.push('\n');
        }
    }
    for variable in container.env.iter().flatten() {
        all.insert(format!("env {}", variable.name), written(variable));
    }
    for mount in container.volume_mounts.iter().flatten() {
        all.insert(format!("mount {}", mount.mount_path), written(mount));
    }
}

/// The other fields, each with all that is in it.
fn others(of: &impl Serialize, known: &'static [&str]) -> impl Iterator<Item = (String, String)> {
    let fields = match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => serde_json::Map::new(),
    };
    let fields = fields.into_iter();
    let fields = fields.filter(|(name, _)| !known.contains(&name.as_str()));
    fields.map(|(name, value)| (name, value.to_string()))
}

/// A value to compare, never to show.
fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENDERED: &str = "
metadata:
  annotations: {kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: '10.0.0.1:6443'}
  labels: {component: kube-apiserver}
spec:
  hostNetwork: true
  containers:
  - name: kube-apiserver
    image: registry.k8s.io/kube-apiserver:v1.35.4
    command: [kube-apiserver, --advertise-address=10.0.0.1, --v=2]
    volumeMounts: [{mountPath: /etc/kubernetes/pki, name: k8s-certs, readOnly: true}]
    resources: {requests: {cpu: 250m}}
    startupProbe: {failureThreshold: 24, httpGet: {port: 6443}}
  volumes: [{hostPath: {path: /etc/kubernetes/pki}, name: k8s-certs}]
";

    fn differs(from: &str, to: &str) -> Vec<(String, bool)> {
        let read = |text: &str| serde_saphyr::from_str::<Pod>(text).unwrap();
        let live = RENDERED.replace(from, to);
        assert_ne!(live, RENDERED, "{from}");
        let found = compare(Component::ApiServer, &read(&live), &read(RENDERED));
        let drift = found.drift.into_iter();
        drift
            .map(|one| (one.setting.to_string(), one.changed))
            .collect()
    }

    #[test]
    fn each_setting_by_hand_is_found_by_its_name() {
        for (from, to, setting, changed) in [
            (
                "--v=2",
                "--v=2, --audit-log-path=/x",
                "--audit-log-path",
                false,
            ),
            ("--v=2", "--v=4", "--v", true),
            ("--v=2", "--v=2, --v=3", "--v", true),
            ("cpu: 250m", "cpu: 500m", "resources", true),
            ("registry.k8s.io/", "mirror.example.org/", "image", true),
            (
                "volumes: [",
                "volumes: [{hostPath: {path: /audit}, name: audit}, ",
                "volume audit",
                false,
            ),
            (
                "{mountPath: /etc/kubernetes/pki,",
                "{mountPath: /audit, name: audit}, {mountPath: /etc/kubernetes/pki,",
                "mount /audit",
                false,
            ),
            (
                "resources:",
                "env: [{name: HTTPS_PROXY, value: secret}]\n    resources:",
                "env HTTPS_PROXY",
                false,
            ),
            (
                "containers:",
                "containers:\n  - {name: kms, image: kms}",
                "container kms",
                false,
            ),
            (
                "annotations: {",
                "annotations: {mine: x, ",
                "annotation mine",
                false,
            ),
            ("labels: {", "labels: {mine: x, ", "label mine", false),
            (
                "hostPath: {path: /etc",
                "hostPath: {path: /new",
                "volume k8s-certs",
                true,
            ),
            (
                "readOnly: true",
                "readOnly: false",
                "mount /etc/kubernetes/pki",
                true,
            ),
            (
                "[kube-apiserver,",
                "[nice, kube-apiserver,",
                "command",
                true,
            ),
            (
                "hostNetwork: true",
                "hostNetwork: false",
                "pod hostNetwork",
                true,
            ),
            (
                "hostNetwork:",
                "hostAliases: [{ip: 10.0.0.9, hostnames: [kms]}]\n  hostNetwork:",
                "pod hostAliases",
                false,
            ),
            (
                "resources:",
                "envFrom: [{secretRef: {name: kms}}]\n    resources:",
                "envFrom",
                false,
            ),
            (
                "resources:",
                "lifecycle: {preStop: {sleep: {seconds: 9}}}\n    resources:",
                "lifecycle",
                false,
            ),
            (
                "resources:",
                "securityContext: {privileged: true}\n    resources:",
                "securityContext",
                false,
            ),
        ] {
            assert_eq!(differs(from, to), [(setting.to_owned(), changed)], "{to}");
        }
    }

    #[test]
    fn what_kubeadm_alone_decides_is_no_drift() {
        assert_eq!(differs("failureThreshold: 24", "failureThreshold: 90"), []);
        let joined = "--v=2, --initial-cluster=a=b, --initial-cluster-state=existing";
        assert_eq!(differs("--v=2", joined), []);
    }

    #[test]
    fn what_only_kubeadm_has_is_no_drift_and_a_new_manifest() {
        let read = |text: &str| serde_saphyr::from_str::<Pod>(text).unwrap();
        let new = RENDERED.replace("--v=2", "--v=2, --profiling=false");
        let found = compare(Component::ApiServer, &read(RENDERED), &read(&new));
        assert_eq!((found.drift, found.rewritten), (Vec::new(), true));
        let same = compare(Component::ApiServer, &read(RENDERED), &read(RENDERED));
        assert_eq!(same, Difference::default());
    }
}
