//! Nodes and static pods as facts. A Node is written by its own kubelet and agent, so nothing of it is believed to be of a
//! reasonable size.

use std::collections::BTreeMap;

use upgrade::names;
use upgrade::record::Reached;
use upgrade::report::{Answer, Status};

use crate::api::{self, is_true};
use crate::engine::{Ended, NodeFacts, StaticPod};

/// The longest status that is read. The agent's own is under 2 KiB; an annotation can be 256 KiB.
const STATUS: usize = 16 * 1024;

/// How many of the phases that it reached are kept, the last ones. An upgrade has about ten.
const REACHED: usize = 16;

/// The longest part of any other annotation that is kept, in characters.
const TEXT: usize = 512;

/// A Node as facts.
#[must_use]
pub fn node(object: api::Node) -> NodeFacts {
    let meta = object.metadata;
    let annotations = meta.annotations.unwrap_or_default();
    let get = |key: &str| text(&annotations, key);
    let status = object.status.unwrap_or_default();
    let told = annotations.get(names::STATUS);
    let (details, reached) = told.and_then(|text| details(text)).unzip();
    let reached = reached.unwrap_or_default();
    NodeFacts {
        name: meta.name.unwrap_or_default(),
        uid: meta.uid.unwrap_or_default(),
        resource_version: meta.resource_version.unwrap_or_default(),
        provider_id: object.spec.provider_id.filter(|id| !id.is_empty()),
        architecture: status.node_info.architecture,
        ready: is_true(&status.conditions, "Ready"),
        cordoned: object.spec.unschedulable,
        kubelet: status.node_info.kubelet_version,
        control_plane: is_control_plane(meta.labels.as_ref()),
        requested: annotations
            .get(names::REQUEST)
            .is_some_and(|value| value == names::REQUEST_SCHEDULED),
        image: get(names::IMAGE),
        version: get(names::KUBERNETES_VERSION),
        id: get(names::UPGRADE_ID),
        paused: get(names::PAUSED),
        answer: answer(&annotations),
        ended: ended(&annotations, details.as_ref(), &reached),
        unreadable: told.is_some() && details.is_none(),
        status: details,
        reached: last(&reached),
        failure: get(names::FAILURE_REASON),
    }
}

fn text(annotations: &BTreeMap<String, String>, key: &str) -> Option<String> {
    annotations
        .get(key)
        .map(|value| value.chars().take(TEXT).collect())
}

fn answer(annotations: &BTreeMap<String, String>) -> Option<Answer> {
    let value = annotations.get(names::ANSWER)?;
    [Answer::InProgress, Answer::Upgraded, Answer::Failed]
        .into_iter()
        .find(|answer| answer.as_str() == value)
}

/// What the request that is answered took, once that is the agent's last word.
fn ended(
    annotations: &BTreeMap<String, String>,
    status: Option<&Status>,
    reached: &[Reached],
) -> Option<Box<Ended>> {
    answer(annotations).filter(|answer| *answer != Answer::InProgress)?;
    let history = annotations.get(names::HISTORY)?;
    Ended::of(status?, reached, history).map(Box::new)
}

/// The details, and when phases were reached. The list of those is the largest part, and is not kept.
fn details(text: &str) -> Option<(Status, Vec<Reached>)> {
    let within = Some(text).filter(|text| text.len() <= STATUS)?;
    let mut status: Status = serde_json::from_str(within).ok()?;
    let reached = std::mem::take(&mut status.reached);
    Some((status, reached))
}

/// When the last phases were reached.
fn last(reached: &[Reached]) -> Vec<u64> {
    let surplus = reached.len().saturating_sub(REACHED);
    let last = reached.iter().skip(surplus);
    last.map(|reached| reached.at).collect()
}

fn is_control_plane(labels: Option<&BTreeMap<String, String>>) -> bool {
    labels.is_some_and(|labels| labels.contains_key("node-role.kubernetes.io/control-plane"))
}

/// Name, Node and what matters of a static pod's mirror. kubeadm labels them with their component and calls them
/// `<component>-<node>`.
pub fn pod(object: api::Pod) -> Option<(String, String, StaticPod)> {
    let name = object.metadata.name?;
    let component = object.metadata.labels?.remove("component")?;
    let node = if object.spec.node_name.is_empty() {
        name.strip_prefix(&format!("{component}-"))?.to_owned()
    } else {
        object.spec.node_name
    };
    let image = object
        .spec
        .containers
        .first()
        .map(|container| container.image.as_str());
    let ready = object
        .status
        .is_some_and(|status| is_true(&status.conditions, "Ready"));
    let pod = StaticPod {
        version: image.and_then(tag),
        component,
        ready,
    };
    Some((name, node, pod))
}

/// The tag of `host:port/name:tag@digest`.
fn tag(image: &str) -> Option<String> {
    let name = image.split('@').next()?.rsplit('/').next()?;
    name.split_once(':').map(|(_, tag)| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tag_is_found_behind_ports_and_before_digests() {
        assert_eq!(
            tag("example.org/kube-apiserver:v1.36.3").as_deref(),
            Some("v1.36.3")
        );
        assert_eq!(tag("mirror:5000/kube-apiserver@sha256:aa"), None);
        assert_eq!(
            tag("mirror:5000/x/kube-apiserver:v1.36.3@sha256:aa").as_deref(),
            Some("v1.36.3")
        );
    }

    #[test]
    fn a_pod_whose_lists_are_null_hides_no_others() {
        let object = json!({
            "metadata": { "name": "kube-scheduler-a", "labels": { "component": "kube-scheduler" } },
            "spec": { "nodeName": "a", "containers": null }, "status": { "conditions": null },
        });
        let (_, node, pod) = pod(serde_json::from_value(object).unwrap()).unwrap();
        assert_eq!((node.as_str(), pod.version, pod.ready), ("a", None, false));
    }

    #[test]
    fn when_phases_were_reached_is_kept_and_of_many_the_last() {
        let reached = |count: u64| -> Vec<_> {
            let each = 0..count;
            each.map(|at| json!({ "phase": "Trial", "at": at }))
                .collect()
        };
        for (count, kept) in [(3, 0..3), (40, 24..40)] {
            let status =
                json!({ "phase": "Trial", "percent": 60, "tries": 1, "reached": reached(count) });
            let object = json!({ "metadata": { "name": "a", "annotations": { names::STATUS: status.to_string() } }, "spec": {} });
            let facts = node(serde_json::from_value(object).unwrap());
            assert_eq!(facts.reached, kept.collect::<Vec<u64>>());
            assert!(facts.status.unwrap().reached.is_empty());
        }
    }

    #[test]
    fn a_node_that_writes_too_much_is_kept_small_and_its_status_is_not_read() {
        let long = "x".repeat(200_000);
        let object = json!({
            "metadata": { "name": "a", "annotations": { names::FAILURE_REASON: long, names::STATUS: long, names::ANSWER: "Failed" } },
            "spec": {},
        });
        let facts = node(serde_json::from_value(object).unwrap());
        assert_eq!(facts.failure.unwrap().len(), TEXT);
        assert!(facts.status.is_none() && facts.unreadable);
    }
}
