//! The kubelet's configuration as `kubeadm upgrade node` will write it, and what of this node's own
//! settings that would undo.
//!
//! kubeadm (v1.35 and v1.36, cmd/kubeadm/app/phases/kubelet/config.go) takes the ConfigMap
//! kube-system/kubelet-config, applies the node's patches, then instance-config.yaml, and replaces
//! /var/lib/kubelet/config.yaml. It reads nothing of the former file. Drop-ins (`--config-dir`) and
//! the flags in kubeadm-flags.env stay.

mod lost;
pub mod patches;

use std::io::ErrorKind;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use serde_json::Value;
use tracing::warn;
use upgrade::Reason;
use upgrade::policy::{Kubeadm, LocalSettings};

use crate::cluster::{ApiError, Cluster, limited};
pub use lost::Lost;

/// What the kubelet reads.
const CONFIG: &str = "var/lib/kubelet/config.yaml";
/// What kubeadm applies as the last patch.
const INSTANCE: &str = "var/lib/kubelet/instance-config.yaml";
/// The ConfigMap, which kubeadm lets each node read (Role kubeadm:kubelet-config).
const NAMESPACE: &str = "kube-system";
const MAP: &str = "kubelet-config";
const KEY: &str = "kubelet";

/// What an upgrade would do to the settings of the system at this root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The settings that the node would lose.
    pub lost: Vec<Lost>,
    /// Why the upgrade may not begin, by the policy.
    pub refusal: Option<Reason>,
}

/// Looks at the node's files and at the cluster's configuration.
///
/// # Errors
/// [`Reason::ApiAway`]: the server does not answer.
pub async fn forecast(
    root: &Path,
    cluster: &Cluster,
    policy: &Kubeadm,
) -> Result<Forecast, Reason> {
    let base = base(cluster).await.map_err(ApiError::into_reason)?;
    Ok(judge(root, base.as_deref(), policy))
}

/// As [`forecast`], with this text of the cluster's configuration. Without one nothing can be said:
/// kubeadm will say the same.
#[must_use]
pub fn judge(root: &Path, base: Option<&str>, policy: &Kubeadm) -> Forecast {
    let patches = match patches::of(root, &policy.patches) {
        Ok(patches) => patches,
        Err(detail) => {
            return Forecast {
                lost: Vec::new(),
                refusal: Some(Reason::BadPatches { detail }),
            };
        }
    };
    let lost = compare(root, base, &patches);
    let refusal = match (policy.local_settings, &lost) {
        (LocalSettings::Refuse, Ok(lost)) => lost::told(lost, &policy.patches),
        (LocalSettings::Refuse, Err(detail)) => Some(detail.clone()),
        (LocalSettings::Drop, Ok(_)) => None,
        (LocalSettings::Drop, Err(detail)) => {
            warn!("cannot compare the kubelet's settings: {detail}");
            None
        }
    };
    Forecast {
        lost: lost.unwrap_or_default(),
        refusal: refusal.map(|detail| Reason::KubeletSettings { detail }),
    }
}

fn compare(
    root: &Path,
    base: Option<&str>,
    patches: &[patches::Patch],
) -> Result<Vec<Lost>, String> {
    let (Some(base), Some(now)) = (base, read(&root.join(CONFIG))?) else {
        return Ok(Vec::new());
    };
    let base = one(base).map_err(|error| format!("cannot read ConfigMap {MAP}: {error}"))?;
    let mut then = base.clone();
    patches::apply(patches, &mut then)?;
    if let Some(instance) = read(&root.join(INSTANCE))? {
        json_patch::merge(&mut then, &instance);
    }
    Ok(lost::between(&now, &base, &then))
}

/// A file of YAML, or `None` if it does not exist.
fn read(file: &Path) -> Result<Option<Value>, String> {
    let cannot = |error: String| format!("cannot read {}: {error}", file.display());
    match std::fs::read_to_string(file) {
        Ok(text) => one(&text).map(Some).map_err(cannot),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(error.to_string())),
    }
}

/// The one document in a text of YAML.
fn one(text: &str) -> Result<Value, String> {
    let all = serde_saphyr::from_multiple::<Value>(text);
    let all = all.map_err(|error| error.to_string())?;
    let first = all.into_iter().find(|document| !document.is_null());
    first.ok_or_else(|| "it is empty".to_owned())
}

/// The text of the cluster's configuration. `None` if this cluster has none that a node may read.
async fn base(cluster: &Cluster) -> Result<Option<String>, ApiError> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client().await?, NAMESPACE);
    match limited(maps.get(MAP)).await {
        Ok(map) => Ok(map.data.and_then(|mut data| data.remove(KEY))),
        Err(error @ (ApiError::Missing | ApiError::Refused(_))) => {
            warn!("cannot compare the kubelet's settings with ConfigMap {MAP}: {error}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
