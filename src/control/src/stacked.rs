//! Whether the member of etcd on this node is kubeadm's, for verbs without the administrator's
//! credential.

use client::chain;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;

use crate::api::configuration as parse;
use crate::cluster::Configuration;
use crate::connect::{KUBELET, NAMESPACE, PATIENCE, connect};
use crate::folder::Folder;
use crate::node;

/// What this node and kubeadm-config say about a member here.
#[derive(Debug)]
pub(crate) enum Stacked {
    /// A member of kubeadm's is here. kubeadm's configuration of the cluster, or why it is not
    /// known.
    Here(Result<Configuration, String>),
    /// etcd is external, whatever files an earlier member may have left.
    No,
}

/// Looks at the files, then asks the API server. While it does not answer, the files decide.
pub(crate) async fn look(folder: &Folder) -> Stacked {
    if !node::has_member(folder) {
        return Stacked::No;
    }
    match configuration(folder).await {
        Ok(found) if found.external.is_some() => Stacked::No,
        found => Stacked::Here(found),
    }
}

/// The kubelet's credential may read it, so the administrator's is not used.
async fn configuration(folder: &Folder) -> Result<Configuration, String> {
    let read = async {
        let client = connect(folder, KUBELET)?;
        let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
        let map = maps.get("kubeadm-config").await;
        parse(&map.map_err(|error| chain(&error))?)
    };
    let asked = tokio::time::timeout(PATIENCE, read).await;
    asked.unwrap_or_else(|_| Err(format!("no answer in {} s", PATIENCE.as_secs())))
}
