//! What a person has paused. Like the annotation flow, provisioning takes a key that looks like a
//! pause for one.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use requests::NodeFacts;

use super::wire;
use crate::machines::looks_paused;
use crate::names;

/// The object has the annotation of a pause.
fn is_paused(meta: &ObjectMeta) -> bool {
    let all = meta.annotations.as_ref();
    all.is_some_and(|all| all.contains_key(names::PAUSED))
}

/// The object, if its spec, its annotation or a key that looks like a pause holds it, with that key.
#[must_use]
pub fn hold(meta: &ObjectMeta, kind: &str, by_spec: bool) -> Option<String> {
    let none = BTreeMap::new();
    let annotations = meta.annotations.as_ref().unwrap_or(&none);
    let name = format!("{kind} {}", meta.name.as_deref().unwrap_or_default());
    if by_spec || is_paused(meta) {
        return Some(name);
    }
    let labels = meta.labels.as_ref().unwrap_or(&none);
    looks_paused(annotations, labels).map(|key| format!("{name} ({key})"))
}

/// The Node, if a person wants it left alone, and by which key.
#[must_use]
pub fn hold_of_node(node: &NodeFacts) -> Option<String> {
    let why = node.left_alone.as_ref()?;
    Some(format!("Node {} ({why})", node.name))
}

/// The Cluster, if it is paused.
#[must_use]
pub fn paused_cluster(cluster: &wire::Cluster) -> Option<String> {
    hold(&cluster.metadata, "Cluster", cluster.spec.paused)
}

/// Who is paused, if the object or its Cluster is. On the objects of the contract itself only the
/// annotation of the contract counts.
#[must_use]
pub fn paused(meta: &ObjectMeta, kind: &str, cluster: Option<&wire::Cluster>) -> Option<String> {
    let own = || format!("{kind} {}", meta.name.as_deref().unwrap_or_default());
    let cluster = || cluster.and_then(paused_cluster);
    is_paused(meta).then(own).or_else(cluster)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(metadata: &Value, paused: bool) -> wire::Cluster {
        serde_json::from_value(json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": metadata, "spec": { "paused": paused },
        }))
        .unwrap()
    }

    #[test]
    fn cluster_is_paused_by_its_spec_its_annotation_or_a_like_key() {
        let named = |part: &str, key: &str| json!({ "name": "c", part: { key: "x" } });
        let none = json!({ "name": "c" });
        for (metadata, by_spec, said) in [
            (&none, false, None),
            (&none, true, Some("Cluster c")),
            (
                &named("annotations", names::PAUSED),
                false,
                Some("Cluster c"),
            ),
            (
                &named("labels", names::PAUSED),
                false,
                Some("Cluster c (label cluster.x-k8s.io/paused (\"x\"))"),
            ),
            (
                &named("annotations", "careen.dev/pause"),
                false,
                Some("Cluster c (annotation careen.dev/pause (\"x\"))"),
            ),
            (&named("annotations", names::RETRY), false, None),
        ] {
            let found = paused_cluster(&cluster(metadata, by_spec));
            assert_eq!(found.as_deref(), said, "{metadata}");
        }
    }

    #[test]
    fn object_of_the_contract_is_paused_only_by_the_contracts_key() {
        let meta = |key: &str| ObjectMeta {
            name: Some("m".to_owned()),
            annotations: Some([(key.to_owned(), String::new())].into()),
            ..ObjectMeta::default()
        };
        let paused = |key| paused(&meta(key), "CareenMachine", None);
        assert_eq!(paused(names::PAUSED).as_deref(), Some("CareenMachine m"));
        assert_eq!(paused("careen.dev/pause"), None);
    }
}
