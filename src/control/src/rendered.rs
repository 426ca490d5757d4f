//! The drift of this node's manifests.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use upgrade::Version;
use upgrade::control_plane::{Component, EtcdTag, Kind, Source, Survey};

use crate::drift::compare;
use crate::folder::Folder;
use crate::kubeadm::{self, Kubeadm, Wanted};
use crate::manifests::{self, Manifest, Manifests};
use crate::patches;

/// Where kubeadm renders the manifests, for as long as the survey runs. Only root may write there.
pub(crate) const RENDERED: &str = "/run";

/// The manifests that one kubeadm writes.
pub(crate) type Pods = BTreeMap<Component, Pod>;

/// What kubeadm renders from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis<'a> {
    /// The files of the node.
    pub folder: &'a Folder,
    /// Its manifests.
    pub read: &'a Manifests,
    /// kubeadm's configuration.
    pub cluster: &'a str,
    /// The folder of patches that the raise gets. `None` is the usual one.
    pub patches: Option<&'a str>,
}

/// What the kubeadm of the running system writes.
#[derive(Debug, Default)]
pub(crate) struct Running {
    /// The manifests, if it could be run.
    pub pods: Option<Pods>,
    /// Why they are none to compare with alone: it has another version than the pods.
    pub unlike: Option<String>,
}

/// Compares the manifests with what the running system's kubeadm would write, if it has the version
/// of the pods. Another one writes other settings.
pub(crate) async fn take(survey: &mut Survey, basis: &Basis<'_>) -> Running {
    let (version, pods) = match render(survey, basis).await {
        Ok(rendered) => rendered,
        Err(why) => {
            survey.miss(Source::Kubeadm, why);
            return Running::default();
        }
    };
    let mut manifests = survey.versions.manifests.values();
    let unlike = manifests.find(|one| **one != version).map(|other| {
        format!("it is {version} and this node has pods of {other}, so nothing was compared")
    });
    if unlike.is_none() {
        compare_all(survey, basis, &pods);
    }
    let pods = Some(pods);
    Running { pods, unlike }
}

fn compare_all(survey: &mut Survey, basis: &Basis<'_>, pods: &Pods) {
    let mut drift = Vec::new();
    for (component, live) in basis.read.of_kubeadm(survey.kind) {
        let Some(pod) = pods.get(component) else {
            continue;
        };
        let difference = compare(*component, &live.pod, pod);
        drift.extend(difference.drift);
        survey.rewritten |= difference.rewritten;
    }
    survey.drift = Some(drift);
    let versions = &survey.versions;
    let own = versions.manifests.get(&Component::ApiServer);
    // For the same version the new kubeadm writes what this one does.
    if survey.kind == Kind::Stacked && versions.image.as_ref() == own {
        survey.versions.etcd_wanted = pods.get(&Component::Etcd).and_then(tag);
    }
}

async fn render(survey: &Survey, basis: &Basis<'_>) -> Result<(Version, Pods), String> {
    let kubeadm = Kubeadm::Running(basis.folder);
    let said = kubeadm::version(kubeadm).await?;
    let version: Version = said
        .parse()
        .map_err(|error| format!("kubeadm version: {error}"))?;
    let into = tempfile::Builder::new()
        .prefix("careen-control-")
        .tempdir_in(RENDERED);
    let into = into.map_err(|error| format!("a temporary folder in {RENDERED}: {error}"))?;
    let cluster = at(basis.cluster, &version)?;
    let wanted = wanted(survey, basis, &cluster)?;
    kubeadm::render(kubeadm, &wanted, into.path()).await?;
    let pods = all_written(survey.kind, into.path())?;
    Ok((version, pods))
}

/// What to render for this node, with kubeadm's configuration of one version. kubeadm reads the
/// node's patches as in an upgrade.
pub(crate) fn wanted<'a>(
    survey: &'a Survey,
    basis: &Basis<'a>,
    cluster: &'a str,
) -> Result<Wanted<'a>, String> {
    let server = basis.read.all.get(&Component::ApiServer);
    let flag = |name| server.and_then(|server| server.flag(name));
    Ok(Wanted {
        cluster,
        node: survey.node.as_str(),
        address: flag("--advertise-address").unwrap_or_default(),
        port: flag("--secure-port").unwrap_or_default(),
        etcd: survey.kind == Kind::Stacked,
        proxies: server.map(Manifest::proxies).unwrap_or_default(),
        timeouts: None,
        patches: patches::folder(basis.folder, basis.patches)?,
    })
}

/// The configuration for this version, which kubeadm-config may be ahead of.
pub(crate) fn at(cluster: &str, version: &Version) -> Result<String, String> {
    let read = serde_saphyr::from_str::<serde_json::Value>(cluster);
    let mut value = read.map_err(|_| "kubeadm-config cannot be read".to_owned())?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("kubernetesVersion".to_owned(), version.to_string().into());
    }
    Ok(value.to_string())
}

/// All manifests that kubeadm has written into a folder.
pub(crate) fn all_written(kind: Kind, folder: &Path) -> Result<Pods, String> {
    let is_here = |one: &Component| *one != Component::Etcd || kind == Kind::Stacked;
    let all = Component::ALL.into_iter().filter(is_here);
    all.map(|one| Ok((one, written(folder, one)?))).collect()
}

fn written(folder: &Path, component: Component) -> Result<Pod, String> {
    let path = folder.join(format!("{component}.yaml"));
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|error| format!("it wrote no {component}.yaml: {error}"))?;
    let read = serde_saphyr::from_str(&text);
    read.map_err(|_| format!("its {component}.yaml cannot be read"))
}

pub(crate) fn tag(pod: &Pod) -> Option<EtcdTag> {
    let container = pod.spec.as_ref()?.containers.first()?;
    manifests::tag(container.image.as_deref()?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_is_ahead_is_rendered_for_what_runs() {
        let version = "v1.35.4".parse().unwrap();
        let text = at("kubernetesVersion: v1.36.3\netcd: {local: {}}", &version).unwrap();
        assert_eq!(
            text,
            r#"{"etcd":{"local":{}},"kubernetesVersion":"v1.35.4"}"#
        );
        assert!(at("[", &version).is_err());
    }
}
