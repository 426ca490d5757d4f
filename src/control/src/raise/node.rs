//! What this node and its cluster are, before anything is changed.

use std::time::Instant;

use hyper::Uri;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ListParams};
use upgrade::Version;
use upgrade::control_plane::raise::Phase;
use upgrade::control_plane::{Certificate, Component, EtcdTag, Kind, Owner, Source, Verb, verb};

use super::order::{Failed, In, RaiseOrder};
use super::serving::PAUSE;
use crate::api::{self, Cluster};
use crate::certificates::Certificates;
use crate::connect::{self, ADMIN, NAMESPACE, connect_to};
use crate::manifests::{self, Manifest, Manifests};
use crate::node;

/// The certificates of etcd that kubeadm renews with etcd.
const OF_ETCD: &str = "pki/etcd/";

/// A node with a control plane.
#[derive(Debug)]
pub(super) struct Node {
    pub name: String,
    pub manifests: Manifests,
    pub versions: Vec<Version>,
    pub cluster: Cluster,
    pub cluster_version: Version,
    pub stacked: bool,
    pub has_coredns: bool,
    /// The address of the own API server, where the one in admin.conf does not answer.
    pub instead: Option<Uri>,
}

impl Node {
    /// Reads the files, then asks the API server for as long as it may take to serve.
    pub async fn look(order: &RaiseOrder) -> Result<Self, Failed> {
        let folder = &order.folder;
        let name = node::name(folder);
        let read = Manifests::read(folder);
        let (versions, unread) = read.versions();
        all_read(&read.unread).during(Phase::Look)?;
        all_read(&unread).during(Phase::Look)?;
        let server = read.all.get(&Component::ApiServer);
        let (cluster, instead) = cluster(order, &name, server).await?;
        let stacked = cluster.configuration.external.is_none();
        has_etcd(&read, stacked).during(Phase::Look)?;
        let version = cluster.configuration.version.clone();
        Ok(Self {
            name,
            versions: versions.into_values().collect(),
            cluster_version: version.ok_or("no version").during(Phase::Look)?,
            has_coredns: has_coredns(order, instead.clone())
                .await
                .during(Phase::Look)?,
            instead,
            manifests: read,
            cluster,
            stacked,
        })
    }

    /// The manifest of the API server. Without one there is no [`Node`].
    pub fn server(&self) -> Option<&Manifest> {
        self.manifests.all.get(&Component::ApiServer)
    }

    /// A flag of the API server.
    pub fn flag(&self, name: &str) -> &str {
        let server = self.server();
        server
            .and_then(|server| server.flag(name))
            .unwrap_or_default()
    }

    /// The version of the pods; the lowest, if they differ.
    pub fn lowest(&self) -> Option<&Version> {
        self.versions.iter().min()
    }

    /// The image of etcd that runs.
    pub fn etcd(&self) -> Option<EtcdTag> {
        self.manifests.etcd_tag()
    }

    /// What kubeadm has to do; `differs` says whether it would write other manifests.
    pub fn verb(&self, to: &Version, differs: bool) -> Verb {
        let owner: Owner = self.cluster.owner;
        verb(&self.cluster_version, &self.versions, to, owner, differs)
    }
}

/// The certificates of etcd on this node.
pub(super) fn of_etcd(order: &RaiseOrder) -> Vec<Certificate> {
    let all = Certificates::read(&order.folder, Kind::Stacked).all;
    let all = all.into_iter();
    all.filter(|one| one.name.as_str().starts_with(OF_ETCD))
        .collect()
}

/// A power cut takes etcd.yaml as well, and kubeadm does not miss it unless it may change etcd.
fn has_etcd(read: &Manifests, stacked: bool) -> Result<(), String> {
    let has_etcd = read.all.contains_key(&Component::Etcd);
    match (stacked, has_etcd, read.etcd_tag()) {
        (true, false, _) => Err(format!(
            "{} does not exist",
            manifests::path(Component::Etcd)
        )),
        (_, true, None) => Err("the image of etcd has no version in its tag".to_owned()),
        (false, false, _) | (_, true, Some(_)) => Ok(()),
    }
}

/// kubeadm takes a node without kube-apiserver.yaml for a worker, and does nothing there.
fn all_read(unread: &[String]) -> Result<(), String> {
    unread.first().map_or(Ok(()), |why| Err(why.clone()))
}

/// What the cluster says, and the address that says it instead of the one in admin.conf. After a
/// repair the API server has just been started.
async fn cluster(
    order: &RaiseOrder,
    name: &str,
    server: Option<&Manifest>,
) -> Result<(Cluster, Option<Uri>), Failed> {
    let begun = Instant::now();
    loop {
        let (looked, away) = api::look_anywhere(&order.folder, name, server).await;
        match looked {
            Ok(cluster) => {
                let own = server.filter(|_| away.is_some()).map(connect::own);
                return Ok((cluster, own.transpose().during(Phase::Look)?));
            }
            Err((Source::Api, _)) if begun.elapsed() < order.serving => {
                tokio::time::sleep(PAUSE).await;
            }
            Err((_, why)) => return Err(why).during(Phase::Look),
        }
    }
}

/// kubeadm finds CoreDNS by this label.
async fn has_coredns(order: &RaiseOrder, server: Option<Uri>) -> Result<bool, String> {
    let client = connect_to(&order.folder, ADMIN, server)?;
    let all: Api<Deployment> = Api::namespaced(client, NAMESPACE);
    let one = ListParams::default().labels("k8s-app=kube-dns").limit(1);
    let found = all.list(&one).await;
    let found = found.map_err(|error| client::chain(&error))?;
    Ok(!found.items.is_empty())
}
