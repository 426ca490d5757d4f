//! What the API server says about the control plane, asked with admin.conf.

use client::chain;
use futures::future::{try_join, try_join4};
use hyper::Uri;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, ListParams, ObjectList};
use kube::{Client, ResourceExt as _};
use upgrade::control_plane::{Component, LOCK, LOCK_NAMESPACE, Lock, Name, Other, Owner, Source};

use crate::cluster::Configuration;
use crate::connect::{self, ADMIN, NAMESPACE, PATIENCE, connect_to};
use crate::folder::Folder;
use crate::lease;
use crate::manifests::Manifest;
use crate::mirrors::{self, Mirrors};

/// The annotation in which Cluster API names the owner of a Node's Machine.
const OWNER: &str = "cluster.x-k8s.io/owner-kind";

/// More control-plane nodes than any cluster has. A longer list is cut by the server.
const MOST: u32 = 100;

/// The label that kubeadm gives to control-plane Nodes. NodeRestriction does not let a kubelet give
/// it to its own Node.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// What the cluster says.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// kubeadm-config.
    pub configuration: Configuration,
    /// Who owns the control plane.
    pub owner: Owner,
    /// Who holds the lock.
    pub lock: Option<Lock>,
    /// The static pods of the other nodes.
    pub others: Vec<Other>,
    /// The static pods of this node that are Ready.
    pub own_ready: Vec<Component>,
    /// Other control-plane Nodes that are not Ready.
    pub not_ready: Vec<Name>,
    /// No other Node takes pods.
    pub alone: bool,
}

/// What could not be read, and why.
pub(crate) type Missed = (Source, String);

/// Asks for all of it, or says what is missing.
pub(crate) async fn look(folder: &Folder, node: &str) -> Result<Cluster, Missed> {
    look_at(folder, node, None).await
}

/// The same at the address in admin.conf, or if it does not answer, at that of this node's own API
/// server: all of them have the same to say. Also returns why the first one did not answer.
pub(crate) async fn look_anywhere(
    folder: &Folder,
    node: &str,
    server: Option<&Manifest>,
) -> (Result<Cluster, Missed>, Option<String>) {
    let first = look(folder, node).await;
    let (Err((Source::Api, why)), Some(Ok(own))) = (&first, server.map(connect::own)) else {
        return (first, None);
    };
    match look_at(folder, node, Some(own)).await {
        Ok(cluster) => (Ok(cluster), Some(why.clone())),
        Err(_) => (first, None),
    }
}

async fn look_at(folder: &Folder, node: &str, server: Option<Uri>) -> Result<Cluster, Missed> {
    let client = connect_to(folder, ADMIN, server).map_err(|why| (Source::Credential, why))?;
    let away = |why: String| (Source::Api, why);
    let asked = tokio::time::timeout(PATIENCE, ask(client, node)).await;
    let late = |_| away(format!("no answer in {} s", PATIENCE.as_secs()));
    asked.map_err(late)?.map_err(away)
}

async fn ask(client: Client, node: &str) -> Result<Cluster, String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let leases: Api<Lease> = Api::namespaced(client.clone(), LOCK_NAMESPACE);
    let nodes: Api<Node> = Api::all(client.clone());
    let of_nodes = ListParams::default().labels(CONTROL_PLANE).limit(MOST);
    let of_all = ListParams::default().limit(MOST);
    let asked = try_join4(
        maps.get("kubeadm-config"),
        nodes.get_opt(node),
        leases.get_opt(LOCK),
        nodes.list(&of_nodes),
    );
    let asked = try_join(asked, nodes.list(&of_all));
    let ((map, own, lease, members), all) = asked.await.map_err(|error| chain(&error))?;
    let own = own.ok_or_else(|| format!("the cluster has no Node {node}"))?;
    if !is_whole(&members) {
        return Err(format!(
            "more than {MOST} Nodes have the label {CONTROL_PLANE}"
        ));
    }
    let Mirrors { others, own_ready } = mirrors::of(client, node, &members.items).await?;
    Ok(Cluster {
        configuration: configuration(&map)?,
        owner: Owner::of(own.annotations().get(OWNER).map(String::as_str)),
        lock: lease.and_then(|lease| lease::lock(&lease)),
        others,
        own_ready,
        not_ready: not_ready(&members.items, node),
        alone: is_alone(&all, node),
    })
}

pub(crate) fn configuration(map: &ConfigMap) -> Result<Configuration, String> {
    let data = map.data.as_ref();
    let text = data.and_then(|data| data.get("ClusterConfiguration"));
    let text = text.ok_or("the ConfigMap kubeadm-config has no ClusterConfiguration")?;
    Configuration::parse(text).map_err(|why| format!("the ConfigMap kubeadm-config: {why}"))
}

fn not_ready(nodes: &[Node], node: &str) -> Vec<Name> {
    let sick = others(nodes, node).filter(|one| !node_is_ready(one));
    sick.map(|one| one.name_any().into()).collect()
}

/// Whether no other Node takes pods. In a cluster with more Nodes than were listed, one does.
fn is_alone(nodes: &ObjectList<Node>, node: &str) -> bool {
    let takes_pods = |one: &Node| {
        let spec = one.spec.as_ref();
        node_is_ready(one) && spec.is_none_or(|spec| spec.unschedulable != Some(true))
    };
    is_whole(nodes) && !others(&nodes.items, node).any(takes_pods)
}

/// Whether the list has all, and the server has not cut it.
fn is_whole(nodes: &ObjectList<Node>) -> bool {
    let more = nodes.metadata.continue_.as_deref();
    more.is_none_or(str::is_empty)
}

fn others<'a>(nodes: &'a [Node], node: &'a str) -> impl Iterator<Item = &'a Node> {
    nodes.iter().filter(move |one| one.name_any() != node)
}

fn node_is_ready(node: &Node) -> bool {
    let status = node.status.iter();
    let mut conditions = status.flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|one| one.type_ == "Ready" && one.status == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, ready: &str) -> Node {
        let value = json!({ "metadata": { "name": name },
            "status": { "conditions": [{ "type": "Ready", "status": ready }] } });
        serde_json::from_value(value).unwrap()
    }

    fn list(nodes: &[Node], more: Option<&str>) -> ObjectList<Node> {
        ObjectList {
            types: kube::api::TypeMeta::list::<Node>(),
            metadata: kube::core::ListMeta {
                continue_: more.map(str::to_owned),
                ..Default::default()
            },
            items: nodes.to_vec(),
        }
    }

    #[test]
    fn node_is_alone_when_no_other_is_ready_and_schedulable() {
        let (own, sick, well) = (
            node("cp-1", "True"),
            node("w-1", "Unknown"),
            node("w-2", "True"),
        );
        let mut cordoned = well.clone();
        cordoned.spec.get_or_insert_default().unschedulable = Some(true);
        let alone = |nodes: &[&Node], more| {
            let nodes: Vec<Node> = nodes.iter().copied().cloned().collect();
            is_alone(&list(&nodes, more), "cp-1")
        };
        assert!(alone(&[&own], None));
        assert!(alone(&[&own, &sick, &cordoned], Some("")));
        assert!(!alone(&[&own, &well], None));
        assert!(!alone(&[&own], Some("more Nodes than one page")));
    }

    #[test]
    fn other_nodes_that_are_not_ready_are_named() {
        let all = [
            node("cp-1", "False"),
            node("cp-2", "Unknown"),
            node("cp-3", "True"),
        ];
        assert_eq!(not_ready(&all, "cp-1"), [Name::from("cp-2")]);
    }
}
