//! What kubeadm sets by itself where the cluster's configuration has no value (kubernetes v1.35 and
//! v1.36, cmd/kubeadm/app/componentconfigs, `kubeletConfig.Default` and `Mutate`). It does so
//! before it applies patches.

use std::path::Path;

use serde_json::{Map, Value, json};

/// The resolver's file of systemd-resolved. kubeadm takes it where that service is active.
const RESOLVED: &str = "/run/systemd/resolve/resolv.conf";
/// The setting that names such a file.
const RESOLVER: &str = "resolvConf";

/// What kubeadm takes from the rest of the cluster's configuration, which a node may not read.
const OF_THE_CLUSTER: [&[&str]; 3] = [
    &["clusterDNS"],
    &["clusterDomain"],
    &["authentication", "x509", "clientCAFile"],
];

/// The settings that kubeadm completes, and their values.
fn completed(root: &Path) -> Vec<(&'static [&'static str], Value)> {
    let mut all: Vec<(&'static [&'static str], Value)> = vec![
        (&["staticPodPath"], json!("/etc/kubernetes/manifests")),
        (&["authentication", "anonymous", "enabled"], json!(false)),
        (&["authentication", "webhook", "enabled"], json!(true)),
        (&["authorization", "mode"], json!("Webhook")),
        (&["healthzBindAddress"], json!("127.0.0.1")),
        (&["healthzPort"], json!(10248)),
        (&["cgroupDriver"], json!("systemd")),
    ];
    if root.join(RESOLVED.trim_start_matches('/')).exists() {
        all.push((&[RESOLVER], json!(RESOLVED)));
    }
    all
}

/// Completes the cluster's configuration where the node has a value. What neither has is no
/// setting that the node could lose, except for the resolver's file: the node may resolve names
/// otherwise then.
pub(super) fn complete(root: &Path, now: &Value, base: &mut Value) {
    for (path, value) in completed(root) {
        let wanted = path == [RESOLVER] || is_set(now, path);
        if wanted && !is_set(base, path) {
            set(base, path, value);
        }
    }
    // Whatever the cluster says.
    if is_set(now, &["rotateCertificates"]) {
        set(base, &["rotateCertificates"], json!(true));
    }
}

/// Whether kubeadm may set this setting, and to what the node has now. `base` is the cluster's
/// configuration before it is completed.
pub(super) fn may_be_kubeadms(path: &[String], now: Option<&Value>, base: &Value) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    if is_set(base, &path) {
        return false;
    }
    let resolver = path == [RESOLVER] && now.is_none_or(|now| now == RESOLVED);
    resolver || OF_THE_CLUSTER.contains(&path.as_slice())
}

fn is_set(value: &Value, path: &[&str]) -> bool {
    let found = path.iter().try_fold(value, |value, name| value.get(name));
    found.is_some_and(|value| !value.is_null() && value != "")
}

fn set(value: &mut Value, path: &[&str], to: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = to;
        return;
    };
    if !value.is_object() {
        *value = Map::new().into();
    }
    if let Value::Object(fields) = value {
        set(fields.entry(*first).or_insert(Value::Null), rest, to);
    }
}
