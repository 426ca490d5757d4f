//! One look at a control plane from one of its nodes.

use thiserror::Error;
use upgrade::Version;
use upgrade::control_plane::{Component, Kind, Source, Survey};

use crate::api;
use crate::certificates::{self, Certificates};
use crate::cluster::{Configuration, External};
use crate::etcd::{self, Address, Client};
use crate::folder::Folder;
use crate::manifests::{self, Manifest, Manifests};
use crate::{rendered, room};

/// What to look at.
#[derive(Clone, Debug)]
pub struct Order {
    /// The files of the node.
    pub folder: Folder,
    /// The version of the image that is asked about.
    pub image: Option<Version>,
    /// The wall clock, in seconds since 1970.
    pub now: u64,
}

/// This node runs no control plane of kubeadm's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "this node runs no control plane of kubeadm's: {} does not exist. Run the survey as root on a control-plane node.",
    .0
)]
pub struct NoControlPlane(String);

/// Looks at everything. What cannot be read is in the survey, too.
///
/// # Errors
/// This is no control-plane node, and nothing else is worth a look.
pub async fn survey(order: &Order) -> Result<Survey, NoControlPlane> {
    let folder = &order.folder;
    if !SIGNS.iter().any(|sign| folder.path(sign).exists()) {
        return Err(NoControlPlane(manifests::path(Component::ApiServer)));
    }
    let read = Manifests::read(folder);
    let node = certificates::node_name(folder).unwrap_or_else(hostname);
    let stacked = MEMBER.iter().any(|sign| folder.path(sign).exists());
    let kind = if stacked {
        Kind::Stacked
    } else {
        Kind::External
    };
    let mut survey = Survey::of(node.as_str().into(), kind, order.now);
    survey.versions.image.clone_from(&order.image);
    take_files(&mut survey, folder, &read);
    let etcd = read.all.get(&Component::Etcd);
    let cluster = api::look(folder, &node);
    let configuration = if stacked {
        let (cluster, members) = futures::join!(cluster, own(folder, etcd));
        take_etcd(&mut survey, members);
        take_cluster(&mut survey, cluster)
    } else {
        take_cluster(&mut survey, cluster.await)
    };
    let external = configuration.as_ref().and_then(|one| one.external.as_ref());
    if let (false, Some(external)) = (stacked, external) {
        let members = elsewhere(folder, external).await;
        take_etcd(&mut survey, members);
    }
    if let Some(configuration) = &configuration {
        rendered::take(&mut survey, folder, &read, &configuration.text).await;
    }
    // A power cut while kubeadm swaps a manifest leaves none, and then this looks like external.
    if survey.kind == Kind::Stacked && etcd.is_none() && !has_manifest(folder) {
        let path = manifests::path(Component::Etcd);
        survey.miss(Source::Manifest, format!("{path} does not exist"));
    }
    Ok(survey)
}

/// Files that only a control-plane node has. kubeadm itself looks at the first one alone, which a
/// power cut can take away.
const SIGNS: [&str; 4] = [
    "/etc/kubernetes/manifests/kube-apiserver.yaml",
    "/etc/kubernetes/manifests/etcd.yaml",
    "/etc/kubernetes/pki/apiserver.crt",
    "/etc/kubernetes/admin.conf",
];

/// Files that only a node with a member of etcd has.
const MEMBER: [&str; 2] = [
    "/etc/kubernetes/manifests/etcd.yaml",
    "/etc/kubernetes/pki/etcd/server.crt",
];

fn has_manifest(folder: &Folder) -> bool {
    folder.path(&manifests::path(Component::Etcd)).exists()
}

/// A kubelet registers its node under the host's name in small letters.
pub(crate) fn hostname() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().to_lowercase()
}

fn take_files(survey: &mut Survey, folder: &Folder, read: &Manifests) {
    let (versions, unread) = read.versions();
    survey.versions.manifests = versions;
    survey.versions.etcd = read.etcd_tag();
    survey.other_manifests.clone_from(&read.others);
    for why in read.unread.iter().chain(&unread) {
        survey.miss(Source::Manifest, why.as_str());
    }
    let found = Certificates::read(folder);
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
    found: Result<api::Cluster, api::Missed>,
) -> Option<Configuration> {
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
            if cluster.configuration.external.is_none() {
                survey.kind = Kind::Stacked;
            }
            Some(cluster.configuration)
        }
    }
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

/// Where kubeadm has etcd's authority, if the manifest does not say it.
const AUTHORITY: &str = "/etc/kubernetes/pki/etcd/ca.crt";

/// Where the member of a node listens, if the manifest does not say it.
const LOOPBACK: &str = "https://127.0.0.1:2379";

/// The file names of the client that kubeadm uses itself, beside the authority.
const CLIENT: &str = "healthcheck-client";

/// Asks the member of this node, at its own address, as kubeadm does.
pub(crate) async fn own(
    folder: &Folder,
    manifest: Option<&Manifest>,
) -> Result<etcd::Found, api::Missed> {
    let flag = |name| manifest.and_then(|manifest| manifest.flag(name));
    let authority = flag("--trusted-ca-file").unwrap_or(AUTHORITY);
    let pki = authority.rsplit_once('/').map_or("", |(pki, _)| pki);
    let urls = flag("--listen-client-urls").unwrap_or(LOOPBACK);
    let own = own_address(urls).map_err(|why| (Source::Etcd, why))?;
    let client = credential(
        folder,
        authority,
        &format!("{pki}/{CLIENT}.crt"),
        &format!("{pki}/{CLIENT}.key"),
    )?;
    Ok(etcd::stacked(&client, &own).await)
}

/// The first of the addresses at which the member listens. kubeadm puts loopback there.
fn own_address(urls: &str) -> Result<Address, String> {
    let first = urls.split(',').next().unwrap_or_default();
    let address: Result<Address, _> = first.parse();
    address.map_err(|error| format!("etcd.yaml, --listen-client-urls: {error}"))
}

async fn elsewhere(folder: &Folder, external: &External) -> Result<etcd::Found, api::Missed> {
    let client = credential(
        folder,
        &external.ca_file,
        &external.cert_file,
        &external.key_file,
    )?;
    Ok(etcd::external(&client, &external.endpoints).await)
}

fn credential(
    folder: &Folder,
    authority: &str,
    certificate: &str,
    key: &str,
) -> Result<Client, api::Missed> {
    let missed = |why: String| (Source::Credential, why);
    let read = |path: &str| {
        let text = folder.read(path);
        text.map_err(|error| missed(Folder::why(path, &error)))
    };
    let client = Client::new(&read(authority)?, &read(certificate)?, &read(key)?);
    client.map_err(|error| missed(format!("{authority}, {certificate}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_member_is_asked_at_the_first_address() {
        let both = "https://127.0.0.1:2379,https://10.0.2.15:2379";
        for urls in [both, LOOPBACK] {
            assert_eq!(own_address(urls).unwrap().to_string(), LOOPBACK);
        }
        for urls in ["", "unix:///run/etcd", "http://127.0.0.1:2379"] {
            assert!(own_address(urls).is_err(), "{urls:?}");
        }
    }
}
