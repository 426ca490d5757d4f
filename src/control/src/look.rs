//! One look at a control plane from one of its nodes.

use futures::future::OptionFuture;
use upgrade::Version;
use upgrade::control_plane::{Component, Kind, Source, Survey};

use crate::api;
use crate::by_hand;
use crate::certificates::{self, Certificates};
use crate::cluster::{Configuration, External};
use crate::etcd;
use crate::folder::Folder;
use crate::image::{self, Image};
use crate::manifests::{self, Manifest, Manifests};
use crate::node::{self, NoControlPlane};
use crate::rendered::Basis;
use crate::{own, rendered, room};

/// What to look at.
#[derive(Clone, Debug)]
pub struct Order {
    /// The files of the node.
    pub folder: Folder,
    /// The version of the image that is asked about.
    pub version: Option<Version>,
    /// The kubeadm of that image, if it is on this node.
    pub image: Option<Image>,
    /// The folder of kubeadm's patches. `None` is the usual one, and an empty path is none.
    pub patches: Option<String>,
    /// The wall clock, in seconds since 1970.
    pub now: u64,
}

/// Looks at everything. What cannot be read is in the survey, too.
///
/// # Errors
/// This is no control-plane node, and nothing else is worth a look.
pub async fn survey(order: &Order) -> Result<Survey, NoControlPlane> {
    let folder = &order.folder;
    node::check(folder)?;
    let read = Manifests::read(folder);
    let node = node::name(folder);
    let etcd = read.all.get(&Component::Etcd);
    let server = read.all.get(&Component::ApiServer);
    let has_member = node::has_member(folder);
    let members = OptionFuture::from(has_member.then(|| own(folder, etcd)));
    let cluster = api::look_anywhere(folder, &node, server);
    let (cluster, members) = futures::join!(cluster, members);
    let kind = kind(cluster.0.as_ref().ok(), has_member);
    let mut survey = Survey::of(node.as_str().into(), kind, order.now);
    survey.versions.image.clone_from(&order.version);
    take_files(&mut survey, folder, &read);
    if let (Kind::Stacked, Some(members)) = (kind, members) {
        take_etcd(&mut survey, members);
    }
    let configuration = take_cluster(&mut survey, cluster);
    if survey.kind == Kind::External {
        take_external(&mut survey, folder, &read, configuration.as_ref()).await;
    }
    if let Some(configuration) = &configuration {
        let basis = Basis {
            folder,
            read: &read,
            cluster: &configuration.text,
            patches: order.patches.as_deref(),
        };
        let running = rendered::take(&mut survey, &basis).await;
        let image = order.image.as_ref();
        let image = OptionFuture::from(image.map(|one| image::take(&mut survey, &basis, one)));
        let image = image.await.flatten();
        by_hand::take(&mut survey, &basis, running, image);
    }
    // A power cut while kubeadm swaps a manifest leaves none, and then this looks like external.
    if survey.kind == Kind::Stacked && etcd.is_none() && !has_manifest(folder) {
        let path = manifests::path(Component::Etcd);
        survey.miss(Source::Manifest, format!("{path} does not exist"));
    }
    Ok(survey)
}

/// Where etcd is. kubeadm-config decides, since files of an earlier member may be left on a node.
/// They show it only while no API server answers.
fn kind(cluster: Option<&api::Cluster>, has_member: bool) -> Kind {
    let is_external = match cluster {
        Some(cluster) => cluster.configuration.external.is_some(),
        None => !has_member,
    };
    match is_external {
        true => Kind::External,
        false => Kind::Stacked,
    }
}

fn has_manifest(folder: &Folder) -> bool {
    folder.path(&manifests::path(Component::Etcd)).exists()
}

fn take_files(survey: &mut Survey, folder: &Folder, read: &Manifests) {
    let (versions, unread) = read.versions();
    survey.versions.manifests = versions;
    survey.versions.etcd = read.etcd_tag();
    survey.other_manifests.clone_from(&read.others);
    for why in read.unread.iter().chain(&unread) {
        survey.miss(Source::Manifest, why.as_str());
    }
    let found = Certificates::read(folder, survey.kind);
    survey.certificates = found.all;
    survey.external_authorities = found.external.into_iter().map(Into::into).collect();
    for why in found.unread {
        survey.miss(Source::Certificate, why);
    }
    // kubeadm copies nothing of an etcd that is not its own.
    if survey.kind == Kind::Stacked {
        match room::places(folder) {
            Ok(places) => survey.room = places,
            Err(why) => survey.miss(Source::Room, why),
        }
    }
}

/// Takes in what the API server said, and returns kubeadm's configuration.
fn take_cluster(
    survey: &mut Survey,
    (found, away): (Result<api::Cluster, api::Missed>, Option<String>),
) -> Option<Configuration> {
    if let Some(why) = away {
        survey.miss(Source::Endpoint, why);
    }
    match found {
        Err((source, why)) => {
            survey.miss(source, why);
            None
        }
        Ok(cluster) => {
            survey.versions.cluster = cluster.configuration.version.clone();
            survey.versions.etcd_wanted = cluster.configuration.etcd_tag.clone();
            survey.owner = cluster.owner;
            survey.lock = cluster.lock;
            survey.others = cluster.others;
            survey.nodes_not_ready = cluster.not_ready;
            survey.alone = cluster.alone;
            survey.own_not_ready = own_not_ready(survey.kind, &cluster.own_ready);
            Some(cluster.configuration)
        }
    }
}

fn own_not_ready(kind: Kind, ready: &[Component]) -> Vec<Component> {
    let all: &[Component] = match kind {
        Kind::Stacked => &Component::ALL,
        Kind::External => &Component::KUBERNETES,
    };
    let missing = all.iter().filter(|component| !ready.contains(component));
    missing.copied().collect()
}

fn take_etcd(survey: &mut Survey, found: Result<etcd::Found, api::Missed>) {
    let found = match found {
        Ok(found) => found,
        Err((source, why)) => return survey.miss(source, why),
    };
    survey.me = found.me;
    survey.alarms = found.alarms;
    survey.db_bytes = found.db_bytes;
    survey.quota_bytes = found.quota_bytes;
    for why in found.unread {
        survey.miss(Source::Etcd, why);
    }
    if let Err(many) = survey.take_members(found.members) {
        survey.miss(Source::Etcd, many.to_string());
    }
}

/// Asks the member of this node, at its own address, as kubeadm does.
pub(crate) async fn own(
    folder: &Folder,
    manifest: Option<&Manifest>,
) -> Result<etcd::Found, api::Missed> {
    let (client, own) = own::member(folder, manifest)?;
    Ok(etcd::stacked(&client, &own).await)
}

/// Takes in what the endpoints say that kubeadm-config names. While no API server answers, the
/// manifest of this node's own names them.
async fn take_external(
    survey: &mut Survey,
    folder: &Folder,
    read: &Manifests,
    configuration: Option<&Configuration>,
) {
    let external = match configuration {
        Some(configuration) => configuration.external.clone(),
        None => read.all.get(&Component::ApiServer).and_then(External::of),
    };
    let Some(external) = external else { return };
    survey
        .certificates
        .extend(certificates::client(folder, &external.cert_file));
    take_etcd(survey, elsewhere(folder, &external).await);
}

async fn elsewhere(folder: &Folder, external: &External) -> Result<etcd::Found, api::Missed> {
    let client = own::credential(
        folder,
        &external.ca_file,
        &external.cert_file,
        &external.key_file,
    )?;
    Ok(etcd::external(&client, &external.endpoints).await)
}
