//! What the kubeadm of another version would start here, and whether the container runtime has it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use upgrade::Version;
use upgrade::control_plane::{Component, Kind, Source, Survey};

use crate::carried;
use crate::folder::Folder;
use crate::kubeadm::{self, Kubeadm};
use crate::manifests::Manifests;
use crate::rendered::{RENDERED, at, tag, wanted, written};

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

/// Takes in which etcd the new kubeadm would write, and which images are missing.
pub(crate) async fn take(
    survey: &mut Survey,
    folder: &Folder,
    read: &Manifests,
    cluster: &str,
    image: &Image,
) {
    let pods = match render(survey, folder, read, cluster, image).await {
        Ok(pods) => pods,
        Err(why) => {
            let path = image.kubeadm.display();
            return survey.miss(Source::Kubeadm, format!("{path}: {why}"));
        }
    };
    let etcd = pods.iter().find(|(one, _)| *one == Component::Etcd);
    if let Some((_, pod)) = etcd {
        survey.versions.etcd_wanted = tag(pod);
    }
    let images: Vec<_> = pods.iter().filter_map(|(_, pod)| name(pod)).collect();
    let carried = carried(survey, image);
    match missing(&image.runtime, &images).await {
        Ok(missing) => {
            let missing = missing.iter().filter(|one| !carried.contains(one));
            let missing = missing.map(|one| one.as_str().into());
            survey.missing_images = Some(missing.collect());
        }
        Err(why) => survey.miss(Source::Runtime, why),
    }
}

/// The images that a raise would import.
fn carried(survey: &mut Survey, image: &Image) -> Vec<String> {
    let folder = image.carried.as_deref();
    match folder.map_or(Ok(Vec::new()), carried::archives) {
        Ok(all) => all.into_iter().flat_map(|archive| archive.names).collect(),
        Err(why) => {
            survey.miss(Source::Runtime, why);
            Vec::new()
        }
    }
}

async fn render(
    survey: &Survey,
    folder: &Folder,
    read: &Manifests,
    cluster: &str,
    image: &Image,
) -> Result<Vec<(Component, Pod)>, String> {
    let kubeadm = Kubeadm::At(&image.kubeadm);
    let said = kubeadm::version(kubeadm).await?;
    if said != image.version.to_string() {
        return Err(format!("it is {said}; expected {}", image.version));
    }
    let into = tempfile::Builder::new()
        .prefix("careen-control-")
        .tempdir_in(RENDERED);
    let into = into.map_err(|error| format!("a temporary folder in {RENDERED}: {error}"))?;
    let cluster = at(cluster, &image.version)?;
    let wanted = wanted(survey, folder, read, &cluster);
    kubeadm::render(kubeadm, &wanted, into.path()).await?;
    let is_here = |one: &Component| *one != Component::Etcd || survey.kind == Kind::Stacked;
    let all = Component::ALL.into_iter().filter(is_here);
    all.map(|one| Ok((one, written(into.path(), one)?)))
        .collect()
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
