//! The static pods of the control-plane nodes, as their kubelets mirror them.
//!
//! A kubelet may create a mirror pod with any name and label, bound to its own Node. So a pod counts
//! only on a control-plane Node, and only under the name that the kubelet there gives it.

use client::{MIRROR, chain};
use futures::future::{try_join, try_join_all};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use upgrade::control_plane::{Component, Other};

use crate::connect::NAMESPACE;
use crate::manifests::tag;

/// More static pods than any node has. Only a control-plane node itself can have more of them.
const MOST: u32 = 100;

/// What the mirror pods say.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    /// The static pods of the other control-plane Nodes.
    pub others: Vec<Other>,
    /// The static pods of this node that are Ready.
    pub own_ready: Vec<Component>,
}

/// Asks for the pods of each of these control-plane Nodes, and of this node. One list for each
/// Node, so pods that a worker makes of itself are in none of them.
pub(crate) async fn of(client: Client, node: &str, members: &[Node]) -> Result<Mirrors, String> {
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    let names = members.iter().map(Node::name_any);
    let names: Vec<_> = names.filter(|name| name != node).collect();
    let others = try_join_all(names.iter().map(|name| on_node(&pods, name)));
    let asked = try_join(on_node(&pods, node), others).await;
    let (own, others) = asked.map_err(|error| chain(&error))?;
    let ready = own.iter().filter(|(_, pod)| is_ready(pod));
    let of_node = |(name, pods): (&String, Vec<Mirror>)| -> Vec<Other> {
        pods.iter().filter_map(|one| other(name, one)).collect()
    };
    Ok(Mirrors {
        own_ready: ready.map(|(component, _)| *component).collect(),
        others: names.iter().zip(others).flat_map(of_node).collect(),
    })
}

/// The mirror of a static pod of kubeadm's.
type Mirror = (Component, Pod);

async fn on_node(pods: &Api<Pod>, node: &str) -> kube::Result<Vec<Mirror>> {
    let of_node = ListParams::default()
        .fields(&format!("spec.nodeName={node}"))
        .labels("tier=control-plane")
        .limit(MOST);
    let found = pods.list(&of_node).await?.items.into_iter();
    Ok(found
        .filter_map(|pod| Some((component(&pod, node)?, pod)))
        .collect())
}

/// The component of a static pod. kubeadm labels its pods with it, and the kubelet names the mirror
/// after both.
fn component(pod: &Pod, node: &str) -> Option<Component> {
    let component = Component::named(pod.labels().get("component")?)?;
    let is_named = pod.name_any() == format!("{component}-{node}");
    (is_named && pod.annotations().contains_key(MIRROR)).then_some(component)
}

/// A static pod of another node. A pod without a version is none of kubeadm's.
fn other(node: &str, (component, pod): &Mirror) -> Option<Other> {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let container = containers.find(|one| one.name == component.name())?;
    let text = tag(container.image.as_deref()?);
    // etcd's tags have no v.
    let version = text.parse().or_else(|_| format!("v{text}").parse()).ok()?;
    Some(Other {
        node: node.into(),
        component: *component,
        version,
        ready: is_ready(pod),
    })
}

fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.iter();
    let mut conditions = status.flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|one| one.type_ == "Ready" && one.status == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(change: impl FnOnce(&mut Value)) -> Pod {
        let mut value = json!({
            "metadata": {
                "name": "kube-apiserver-cp-2",
                "labels": { "component": "kube-apiserver", "tier": "control-plane" },
                "annotations": { "kubernetes.io/config.mirror": "hash" },
            },
            "spec": { "containers": [
                { "name": "kube-apiserver", "image": "registry.k8s.io/kube-apiserver:v1.36.3" }] },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        change(&mut value);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_pods_of_other_nodes_say_their_version() {
        let told = |pod: Pod| other("cp-2", &(component(&pod, "cp-2").unwrap(), pod));
        let found = told(pod(|_| {})).unwrap();
        assert_eq!(found.version.to_string(), "v1.36.3");
        assert!(found.ready);
        let sick = pod(|pod| pod["status"]["conditions"][0]["status"] = "False".into());
        assert!(!told(sick).unwrap().ready);
        let untagged = pod(|pod| pod["spec"]["containers"][0]["image"] = "kube-apiserver".into());
        assert_eq!(told(untagged), None);
    }

    #[test]
    fn pod_counts_as_a_mirror_under_its_name_alone() {
        assert_eq!(component(&pod(|_| {}), "cp-2"), Some(Component::ApiServer));
        let strangers: [fn(&mut Value); 4] = [
            |pod| pod["metadata"]["name"] = "aaa-1".into(),
            |pod| pod["metadata"]["labels"]["component"] = "etcd".into(),
            |pod| pod["metadata"]["annotations"] = json!({}),
            |pod| pod["metadata"]["name"] = "kube-apiserver-cp-1".into(),
        ];
        for change in strangers {
            assert_eq!(component(&pod(change), "cp-2"), None);
        }
    }
}
