//! The drift of this node's manifests.

use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use upgrade::Version;
use upgrade::control_plane::{Component, Drift, EtcdTag, Kind, Source, Survey};

use crate::drift::compare;
use crate::folder::Folder;
use crate::kubeadm::{self, Kubeadm, Wanted};
use crate::manifests::{self, Manifest, Manifests};
use crate::patches;

/// Where kubeadm renders the manifests, for as long as the survey runs. Only root may write there.
pub(crate) const RENDERED: &str = "/run";

/// What kubeadm would write for the running version.
#[derive(Debug, Default)]
struct Found {
    drift: Vec<Drift>,
    rewritten: bool,
    etcd: Option<EtcdTag>,
}

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

/// Compares the manifests with what kubeadm would write, or says why nobody can.
pub(crate) async fn take(survey: &mut Survey, basis: &Basis<'_>) {
    match find(survey, basis).await {
        Err(why) => survey.miss(Source::Kubeadm, why),
        Ok(found) => {
            let versions = &survey.versions;
            let own = versions.manifests.get(&Component::ApiServer);
            // For the same version the new kubeadm writes what this one does.
            if survey.kind == Kind::Stacked && versions.image.as_ref() == own {
                survey.versions.etcd_wanted = found.etcd;
            }
            survey.drift = Some(found.drift);
            survey.rewritten = found.rewritten;
        }
    }
}

async fn find(survey: &Survey, basis: &Basis<'_>) -> Result<Found, String> {
    let version = same_version(survey, basis.folder).await?;
    let into = tempfile::Builder::new()
        .prefix("careen-control-")
        .tempdir_in(RENDERED);
    let into = into.map_err(|error| format!("a temporary folder in {RENDERED}: {error}"))?;
    let cluster = at(basis.cluster, &version)?;
    let wanted = wanted(survey, basis, &cluster)?;
    kubeadm::render(Kubeadm::Running(basis.folder), &wanted, into.path()).await?;
    let mut found = Found::default();
    for (component, live) in basis.read.of_kubeadm(survey.kind) {
        let pod = written(into.path(), *component)?;
        let difference = compare(*component, &live.pod, &pod);
        found.drift.extend(difference.drift);
        found.rewritten |= difference.rewritten;
        if *component == Component::Etcd {
            found.etcd = tag(&pod);
        }
    }
    Ok(found)
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

/// The one version of the node's pods and its kubeadm. Another kubeadm writes other settings.
async fn same_version(survey: &Survey, folder: &Folder) -> Result<Version, String> {
    let said = kubeadm::version(Kubeadm::Running(folder)).await?;
    let version: Version = said
        .parse()
        .map_err(|error| format!("kubeadm version: {error}"))?;
    let other = survey
        .versions
        .manifests
        .values()
        .find(|one| **one != version);
    match other {
        None => Ok(version),
        Some(other) => Err(format!(
            "it is {version} and this node has pods of {other}, so nothing was compared"
        )),
    }
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

pub(crate) fn written(folder: &Path, component: Component) -> Result<Pod, String> {
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
