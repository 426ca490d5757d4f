//! The kubelet's configuration as `kubeadm upgrade node` will write it, and what of this node's own
//! settings that would undo.
//!
//! kubeadm (v1.35 and v1.36, cmd/kubeadm/app/phases/kubelet/config.go) takes the ConfigMap
//! kube-system/kubelet-config, completes it, applies the node's patches, then instance-config.yaml,
//! and replaces /var/lib/kubelet/config.yaml. It reads nothing of the former file. Drop-ins
//! (`--config-dir`) and the flags in kubeadm-flags.env stay.

mod cgroups;
mod defaults;
mod files;
mod lost;
mod patches;

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use serde_json::Value;
use tokio::time::Instant;
use upgrade::policy::{Kubeadm, LocalSettings};
use upgrade::{Reason, Version};

use crate::cluster::{ApiError, Cluster, limited, refused};
use files::{CONFIG, one, read};
pub use lost::Lost;

/// What kubeadm applies as the last patch.
const INSTANCE: &str = "var/lib/kubelet/instance-config.yaml";
/// The ConfigMap, which kubeadm lets each node read (Role kubeadm:kubelet-config).
const NAMESPACE: &str = "kube-system";
const MAP: &str = "kubelet-config";
const KEY: &str = "kubelet";

/// For how long the server may say that there is no such ConfigMap, or that this node may not read
/// it, before that is believed: a server that has just started may not have its rights yet.
const LIMIT: Duration = Duration::from_secs(30);
/// Pause before it is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// What an upgrade would do to the settings of the system at this root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The settings that the node would lose.
    pub lost: Vec<Lost>,
    /// What may be lost, or why that is not known, in sentences. The policy does not refuse it.
    pub unsure: Vec<String>,
    /// Why the upgrade may not begin, by the policy or because its kubelet would not start.
    pub refusal: Option<Reason>,
    /// The configuration that kubeadm will write, if it is known.
    then: Option<Value>,
}

impl Forecast {
    /// The same, with the refusal of a kubelet that would not start here.
    fn for_kubelet(mut self, root: &Path, kubelet: Option<&Version>) -> Self {
        if let (None, Some(kubelet)) = (&self.refusal, kubelet) {
            self.refusal = cgroups::check(root, kubelet, self.then.as_ref()).err();
        }
        self
    }

    /// All of it but the refusal, for a person.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        let lost = self.lost.iter().map(ToString::to_string);
        lost.chain(self.unsure.iter().cloned()).collect()
    }
}

/// The cluster's configuration of the kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// This node may read it.
    Known {
        /// The text.
        text: String,
        /// When somebody changed it last, in seconds since 1970, if the server says so.
        changed: Option<u64>,
    },
    /// Why this node cannot read it.
    Unknown(String),
}

/// Looks at the node's files and at the cluster's configuration. `kubelet` is the version in the
/// image, if it is known.
///
/// # Errors
/// [`Reason::ApiAway`]: the server does not answer. [`Reason::ApiRefused`]: it refuses.
pub async fn forecast(
    root: &Path,
    cluster: &Cluster,
    policy: &Kubeadm,
    kubelet: Option<&Version>,
) -> Result<Forecast, Reason> {
    if !root.join(CONFIG).exists() {
        return Ok(judge(root, &Base::Unknown(String::new()), policy).for_kubelet(root, kubelet));
    }
    let base = base(cluster).await;
    let base = base.map_err(|error| error.into_reason(refused("read the kubelet's settings")))?;
    Ok(judge(root, &base, policy).for_kubelet(root, kubelet))
}

/// As [`forecast`], with this configuration of the cluster.
#[must_use]
pub fn judge(root: &Path, base: &Base, policy: &Kubeadm) -> Forecast {
    let patches = match patches::of(root, &policy.patches) {
        Ok(patches) => patches,
        Err(detail) => return ended(Reason::BadPatches { detail }),
    };
    match (compare(root, base, &patches), policy.local_settings) {
        (Ok(found), LocalSettings::Refuse) => {
            let detail = lost::told(&found.lost, &policy.patches);
            let refusal = detail.map(|detail| Reason::KubeletSettings { detail });
            Forecast { refusal, ..found }
        }
        (Ok(found), LocalSettings::Drop) => found,
        (Err(detail), LocalSettings::Refuse) => ended(Reason::KubeletSettings { detail }),
        (Err(detail), LocalSettings::Drop) => Forecast {
            unsure: vec![format!("not known: {detail}")],
            ..Forecast::default()
        },
    }
}

fn ended(reason: Reason) -> Forecast {
    Forecast {
        refusal: Some(reason),
        ..Forecast::default()
    }
}

/// What would be lost. What is not known is an error: kubeadm reads the same ConfigMap with the
/// same credential.
fn compare(root: &Path, base: &Base, patches: &[patches::Patch]) -> Result<Forecast, String> {
    let file = root.join(CONFIG);
    let Some(now) = read(&file)? else {
        return Ok(Forecast::default());
    };
    let (text, changed) = match base {
        Base::Known { text, changed } => (text, *changed),
        Base::Unknown(why) => return Err(why.clone()),
    };
    let map = one(text).map_err(|error| format!("cannot read ConfigMap {MAP}: {error}"))?;
    let mut base = map.clone();
    defaults::complete(root, &now, &mut base);
    let mut then = base.clone();
    patches::apply(patches, &mut then)?;
    if let Some(instance) = read(&root.join(INSTANCE))? {
        json_patch::merge(&mut then, &instance);
    }
    let all = lost::between(&now, &base, &then);
    let is_newer = changed.is_some_and(|changed| written(&file) < Some(changed));
    let (mut unsure, mut lost) = (Vec::new(), Vec::new());
    for one in all {
        if one.may_be_kubeadms(&map) {
            unsure.push(format!(
                "{one}, unless kubeadm sets it: the cluster has no value"
            ));
        } else if one.is_removed() && is_newer {
            unsure.push(format!(
                "{one}: the cluster may have set it since this node was configured"
            ));
        } else {
            lost.push(one);
        }
    }
    Ok(Forecast {
        unsure,
        lost,
        refusal: None,
        then: Some(then),
    })
}

/// When a file was written, in seconds since 1970.
fn written(file: &Path) -> Option<u64> {
    let time = std::fs::metadata(file).and_then(|meta| meta.modified());
    let time = time.ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(time.as_secs())
}

/// The cluster's configuration.
async fn base(cluster: &Cluster) -> Result<Base, ApiError> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client().await?, NAMESPACE);
    let ask = || {
        let maps = maps.clone();
        async move { limited(maps.get(MAP)).await.map(known) }
    };
    believed(ask).await
}

fn known(map: ConfigMap) -> Option<Base> {
    let text = map.data?.remove(KEY)?;
    let fields = map.metadata.managed_fields.unwrap_or_default();
    let times = fields.into_iter().filter_map(|entry| entry.time);
    let times = times.chain(map.metadata.creation_timestamp);
    let changed = times.filter_map(|time| u64::try_from(time.0.as_second()).ok());
    let changed = changed.max();
    Some(Base::Known { text, changed })
}

/// What the server says, once it says so for long enough.
async fn believed<F>(ask: impl Fn() -> F) -> Result<Base, ApiError>
where
    F: Future<Output = Result<Option<Base>, ApiError>>,
{
    let begun = Instant::now();
    loop {
        let why = match ask().await {
            Ok(Some(base)) => return Ok(base),
            Ok(None) => format!("it has no key {KEY:?}"),
            Err(error @ (ApiError::Missing | ApiError::Refused(_))) => error.to_string(),
            Err(error) => return Err(error),
        };
        if begun.elapsed() >= LIMIT {
            let detail = format!(
                "cannot read ConfigMap {NAMESPACE}/{MAP}, which kubeadm upgrade node needs, in {} s: {why}",
                LIMIT.as_secs()
            );
            return Ok(Base::Unknown(detail));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests;
