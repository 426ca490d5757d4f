//! What the kubeadm of another version would start here, and whether the container runtime has it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use upgrade::Version;
use upgrade::control_plane::{Component, Source, Survey, Verb};

use crate::carried;
use crate::kubeadm::{self, Kubeadm};
use crate::rendered::{Basis, Pods, RENDERED, all_written, at, tag, wanted};

/// How long the container runtime has for all answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kubeadm of an image, and the container runtime of this node.
#[derive(Clone, Debug)]
pub struct Image {
    /// The kubeadm, for example in a deployment that is not booted.
    pub kubeadm: PathBuf,
    /// Its version.
    pub version: Version,
    /// The socket of the container runtime.
    pub runtime: PathBuf,
    /// The folder of the images that it carries.
    pub carried: Option<PathBuf>,
}

/// Takes in which etcd the new kubeadm would write, and which images are missing. Returns all that
/// it would write.
pub(crate) async fn take(survey: &mut Survey, basis: &Basis<'_>, image: &Image) -> Option<Pods> {
    survey.image_kubeadm = true;
    let pods = match render(survey, basis, image).await {
        Ok(pods) => pods,
        Err(why) => {
            let path = image.kubeadm.display();
            survey.miss(Source::Kubeadm, format!("{path}: {why}"));
            return None;
        }
    };
    if let Some(pod) = pods.get(&Component::Etcd) {
        survey.versions.etcd_wanted = tag(pod);
    }
    let images: Vec<_> = pods.values().filter_map(name).collect();
    let carried = carried(survey, image.carried.as_deref());
    match missing(&image.runtime, &images).await {
        Ok(missing) => {
            let missing = missing.iter().filter(|one| !carried.contains(one));
            let missing = missing.map(|one| one.as_str().into());
            survey.missing_images = Some(missing.collect());
        }
        Err(why) => survey.miss(Source::Runtime, why),
    }
    Some(pods)
}

/// The images that a raise would import. It fails on an archive that cannot be read, also if the
/// container runtime has each image.
fn carried(survey: &mut Survey, folder: Option<&Path>) -> Vec<String> {
    match folder.map_or(Ok(Vec::new()), carried::archives) {
        Ok(all) => all.into_iter().flat_map(|archive| archive.names).collect(),
        Err(why) => {
            if survey.verb() != Some(Verb::Nothing) {
                survey.miss(Source::Archive, why);
            }
            Vec::new()
        }
    }
}

async fn render(survey: &Survey, basis: &Basis<'_>, image: &Image) -> Result<Pods, String> {
    let kubeadm = Kubeadm::At(&image.kubeadm);
    let said = kubeadm::version(kubeadm).await?;
    if said != image.version.to_string() {
        return Err(format!("it is {said}; expected {}", image.version));
    }
    let into = tempfile::Builder::new()
        .prefix("careen-control-")
        .tempdir_in(RENDERED);
    let into = into.map_err(|error| format!("a temporary folder in {RENDERED}: {error}"))?;
    let cluster = at(basis.cluster, &image.version)?;
    let wanted = wanted(survey, basis, &cluster)?;
    kubeadm::render(kubeadm, &wanted, into.path()).await?;
    all_written(survey.kind, into.path())
}

/// The image of a static pod. kubeadm writes one container.
fn name(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.containers.first()?.image.clone()
}

async fn missing(runtime: &Path, images: &[String]) -> Result<Vec<String>, String> {
    let asked = tokio::time::timeout(PATIENCE, cri::missing_images(runtime, images)).await;
    let path = runtime.display();
    match asked {
        Ok(Ok(missing)) => Ok(missing),
        Ok(Err(error)) => Err(format!("{path}: {error}")),
        Err(_) => Err(format!("{path}: no answer in {} s", PATIENCE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use upgrade::control_plane::{Class, Code, Kind, findings};

    use super::*;

    #[test]
    fn carried_archive_that_cannot_be_read_refuses_an_upgrade() {
        let folder = tempfile::tempdir().unwrap();
        let mut survey = Survey::of("cp-1".into(), Kind::Stacked, 1);
        for path in [None, Some(folder.path()), Some(Path::new("/nowhere"))] {
            assert!(carried(&mut survey, path).is_empty());
        }
        assert!(findings(&survey).is_empty());
        // As `skopeo copy` writes it, without a name that containerd takes.
        let mut archive = tar::Builder::new(Vec::new());
        for (name, text) in [
            ("oci-layout", "{}"),
            ("index.json", r#"{"manifests":[{"annotations":{}}]}"#),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            archive
                .append_data(&mut header, name, text.as_bytes())
                .unwrap();
        }
        let file = folder.path().join("etcd.tar");
        std::fs::write(file, archive.into_inner().unwrap()).unwrap();
        assert!(carried(&mut survey, Some(folder.path())).is_empty());
        let found = &findings(&survey)[0];
        assert_eq!((found.code, found.class), (Code::NotSeen, Class::Refuse));
        assert!(found.says.contains("etcd.tar: no image in it has a name"));

        // An upgrade without a raise imports nothing.
        let mut without = Survey::of("cp-1".into(), Kind::Stacked, 1);
        let version: Version = "v1.36.3".parse().unwrap();
        without.versions.cluster = Some(version.clone());
        without.versions.image = Some(version.clone());
        let of_all = Component::KUBERNETES.map(|one| (one, version.clone()));
        without.versions.manifests = of_all.into();
        assert!(carried(&mut without, Some(folder.path())).is_empty());
        assert!(findings(&without).is_empty());
    }
}
