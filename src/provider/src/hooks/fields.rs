//! Which fields may differ: those that the node's agent carries out, and those that core does not
//! compare.

use serde_json::Value;

use super::diff::Change;
use super::image;
use super::rules::Rules;

/// Fields that core does not compare (capi.md 2.4: `internal/util/inplace`). A difference there
/// does not count.
const NOT_COMPARED: &[&str] = &[
    "/clusterName",
    "/bootstrap",
    "/infrastructureRef",
    "/providerID",
    "/minReadySeconds",
    "/readinessGates",
    "/nodeDeletionTimeout",
    "/nodeDrainTimeout",
    "/nodeVolumeDetachTimeout",
    "/deletion",
    "/taints",
];

/// Fields of a KubeadmConfig that depend only on the version. KubeadmControlPlane sets and drops
/// this gate between v1.31 and v1.36, and `kubeadm upgrade node` reads the rest from the cluster.
const BY_VERSION: &[&str] = &["/clusterConfiguration/featureGates/ControlPlaneKubeletLocalMode"];

/// The path below the compared part.
fn relative<'a>(change: &'a Change<'_>, prefix: &str) -> &'a str {
    change
        .path
        .strip_prefix("spec")
        .and_then(|path| path.strip_prefix(prefix))
        .unwrap_or(&change.path)
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn machine_change(change: &Change<'_>, prefix: &str) -> Result<(), &'static str> {
    let path = relative(change, prefix);
    match path {
        "/version" if change.desired.is_some_and(Value::is_string) => Ok(()),
        "/version" => Err("a Machine must have a version"),
        "/failureDomain" => Err("an upgrade does not move a node to another failure domain"),
        _ if NOT_COMPARED.iter().any(|parent| is_below(path, parent)) => Ok(()),
        _ => Err("an upgrade of the node does not change it"),
    }
}

pub(super) fn infra_change(change: &Change<'_>, prefix: &str, rules: &Rules) -> Result<(), String> {
    let path = relative(change, prefix);
    if !rules.image_fields.iter().any(|field| field == path) {
        return Err("it does not name an image, so it is part of the machine itself".to_owned());
    }
    if change.desired.is_none() {
        return Ok(());
    }
    match image::named(change.desired)? {
        Some(_) => Ok(()),
        None => Err(format!(
            "not an image that a request may name; use {}",
            image::ACCEPTED
        )),
    }
}

pub(super) fn bootstrap_change(change: &Change<'_>, prefix: &str) -> Result<(), &'static str> {
    let path = relative(change, prefix);
    if BY_VERSION.contains(&path) {
        return Ok(());
    }
    Err("an upgrade does not change what a node was bootstrapped with")
}
