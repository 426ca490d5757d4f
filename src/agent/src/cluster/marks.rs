//! Careen's marks on the Node, each with the field that it marks: whether the field is set, and by
//! which client.

use client::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::ResourceExt;
use upgrade::names;

/// The name under which the API server records the agent's writes (`metadata.managedFields`).
pub const MANAGER: &str = "careen-agent";

/// A mark and its field.
#[derive(Clone, Copy)]
pub struct Mark {
    /// The annotation. Its value is the upgrade's id.
    pub key: &'static str,
    /// The path of the field.
    pub field: &'static [&'static str],
    is_set: fn(&Node) -> bool,
}

/// The mark of the cordon.
pub const CORDON: Mark = Mark {
    key: names::CORDONED_BY,
    field: &["spec", "unschedulable"],
    is_set: |node| node.spec.as_ref().is_some_and(|spec| spec.unschedulable),
};

/// The mark of the label for load balancers.
pub const EXCLUSION: Mark = Mark {
    key: names::EXCLUDED_BY,
    field: &["metadata", "labels", names::EXCLUDED],
    is_set: |node| node.labels().contains_key(names::EXCLUDED),
};

/// The mark of the annotation for cluster-autoscaler.
pub const SCALE_DOWN: Mark = Mark {
    key: names::SCALE_DOWN_REFUSED_BY,
    field: &["metadata", "annotations", names::SCALE_DOWN_REFUSED],
    is_set: |node| node.annotations().contains_key(names::SCALE_DOWN_REFUSED),
};

/// The mark of the annotation for Karpenter.
pub const DISRUPTION: Mark = Mark {
    key: names::DISRUPTION_REFUSED_BY,
    field: &["metadata", "annotations", names::DISRUPTION_REFUSED],
    is_set: |node| node.annotations().contains_key(names::DISRUPTION_REFUSED),
};

/// The mark of the label for medik8s.
pub const REMEDIATION: Mark = Mark {
    key: names::REMEDIATION_REFUSED_BY,
    field: &["metadata", "labels", names::REMEDIATION_REFUSED],
    is_set: |node| node.labels().contains_key(names::REMEDIATION_REFUSED),
};

/// The shields: the keys that keep other programs off the node while it is away.
pub const SHIELDS: [Mark; 3] = [SCALE_DOWN, DISRUPTION, REMEDIATION];

/// All marks.
pub const ALL: [Mark; 5] = [CORDON, EXCLUSION, SCALE_DOWN, DISRUPTION, REMEDIATION];

impl Mark {
    /// The id in the mark, if there is one.
    #[must_use]
    pub fn of<'a>(&self, node: &'a Node) -> Option<&'a str> {
        node.annotations().get(self.key).map(String::as_str)
    }

    /// The field's own name, for example that of the annotation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.field.last().copied().unwrap_or_default()
    }

    /// Whether the field is set, by Careen or by somebody else.
    #[must_use]
    pub fn is_set(&self, node: &Node) -> bool {
        (self.is_set)(node)
    }

    /// Whether the field is set with Careen's mark, of any upgrade.
    #[must_use]
    pub fn is_ours(&self, node: &Node) -> bool {
        self.of(node).is_some() && !self.is_left(node)
    }

    /// Whether a mark exists and marks nothing: the field is not set, or somebody else has set it
    /// since.
    #[must_use]
    pub fn is_left(&self, node: &Node) -> bool {
        self.of(node).is_some() && (!self.is_set(node) || self.is_anothers(node))
    }

    /// Whether somebody else has set the field: they removed Careen's and set their own, perhaps
    /// while no agent was running. The agent sets a field and its mark in one write, so a manager
    /// that has set both is also an agent, even without that name. If the server records no
    /// managers, only the mark decides.
    fn is_anothers(&self, node: &Node) -> bool {
        let entries = node.metadata.managed_fields.iter().flatten();
        let mut others = entries.filter(|entry| entry.manager.as_deref() != Some(MANAGER));
        let mark = ["metadata", "annotations", self.key];
        others.any(|entry| has_set(entry, self.field) && !has_set(entry, &mark))
    }
}

fn has_set(entry: &ManagedFieldsEntry, field: &[&str]) -> bool {
    let mut at = entry.fields_v1.as_ref().map(|fields| &fields.0);
    for name in field {
        at = at.and_then(|fields| fields.get(format!("f:{name}")));
    }
    at.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const KUBECTL: &str = "kubectl";

    /// A cordoned and marked Node, with these managers of the cordon and of the mark.
    fn cordoned_by(cordon: &[&str], mark: &[&str]) -> Node {
        let mut fields = std::collections::BTreeMap::<_, Value>::new();
        for manager in cordon {
            fields.entry(*manager).or_insert(json!({}))["f:spec"] =
                json!({ "f:unschedulable": {} });
        }
        for manager in mark {
            let key = format!("f:{}", names::CORDONED_BY);
            fields.entry(*manager).or_insert(json!({}))["f:metadata"] =
                json!({ "f:annotations": { key: {} } });
        }
        let entry =
            |(manager, fields): (&str, Value)| json!({ "manager": manager, "fieldsV1": fields });
        let managed: Vec<_> = fields.into_iter().map(entry).collect();
        let node = json!({
            "metadata": { "name": "n", "annotations": { names::CORDONED_BY: "u1" }, "managedFields": managed },
            "spec": { "unschedulable": true },
        });
        serde_json::from_value(node).unwrap()
    }

    #[test]
    fn a_cordon_that_somebody_else_sets_under_our_mark_is_theirs() {
        let is_left = |cordon: &[&str], mark: &[&str]| CORDON.is_left(&cordoned_by(cordon, mark));
        assert!(!is_left(&[MANAGER], &[MANAGER]));
        assert!(is_left(&[KUBECTL], &[MANAGER]));
        assert!(is_left(&[MANAGER, KUBECTL], &[MANAGER]), "both apply it");
    }

    #[test]
    fn a_cordon_of_an_agent_that_gave_no_name_is_ours() {
        let is_left = |cordon: &[&str], mark: &[&str]| CORDON.is_left(&cordoned_by(cordon, mark));
        assert!(!is_left(&["unknown"], &["unknown"]));
        assert!(is_left(&[KUBECTL], &["unknown"]));
        assert!(!is_left(&[MANAGER], &["unknown"]), "cordoned again since");
    }

    #[test]
    fn without_books_the_mark_tells() {
        assert!(!CORDON.is_left(&cordoned_by(&[], &[])));
    }

    #[test]
    fn a_mark_without_its_field_is_left() {
        let node = |annotations: Value, labels: Value| -> Node {
            let meta = json!({ "name": "n", "annotations": annotations, "labels": labels });
            serde_json::from_value(json!({ "metadata": meta })).unwrap()
        };
        assert!(CORDON.is_left(&node(json!({ names::CORDONED_BY: "u1" }), json!({}))));
        let mark = || json!({ names::EXCLUDED_BY: "u1" });
        assert!(EXCLUSION.is_left(&node(mark(), json!({}))));
        let label = json!({ names::EXCLUDED: "true" });
        assert!(!EXCLUSION.is_left(&node(mark(), label.clone())));
        assert!(!EXCLUSION.is_left(&node(json!({}), label)), "no mark");
    }
}
