//! Careen's marks on the Node, each with the field that it marks: whether the field is set, and by
//! which client.

use std::collections::BTreeMap;
use std::fmt;

use client::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::ResourceExt;
use upgrade::names;

/// The name under which the API server records the agent's writes (`metadata.managedFields`).
pub const MANAGER: &str = "careen-agent";

/// A mark and its field.
#[derive(Clone, Copy)]
pub struct Mark {
    /// The annotation. Its value is a [`Text`].
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

/// The mark of the annotation for cluster-autoscaler, which heeds only the value `true`
/// (cluster-autoscaler, simulator and `eligibility`, `HasNoScaleDownAnnotation`).
pub const SCALE_DOWN: Mark = Mark {
    key: names::SCALE_DOWN_REFUSED_BY,
    field: &["metadata", "annotations", names::SCALE_DOWN_REFUSED],
    is_set: |node| is_true(node.annotations(), names::SCALE_DOWN_REFUSED),
};

/// The mark of the annotation for Karpenter, which heeds only the value `true` on a Node (its
/// `pkg/controllers/state`, `ValidateNodeDisruptable`).
pub const DISRUPTION: Mark = Mark {
    key: names::DISRUPTION_REFUSED_BY,
    field: &["metadata", "annotations", names::DISRUPTION_REFUSED],
    is_set: |node| is_true(node.annotations(), names::DISRUPTION_REFUSED),
};

/// The mark of the label for medik8s, which heeds every value (node-healthcheck-operator,
/// `isNodeRemediationExcluded`).
pub const REMEDIATION: Mark = Mark {
    key: names::REMEDIATION_REFUSED_BY,
    field: &["metadata", "labels", names::REMEDIATION_REFUSED],
    is_set: |node| node.labels().contains_key(names::REMEDIATION_REFUSED),
};

/// The shields: the keys that keep other programs off the node while it is away.
pub const SHIELDS: [Mark; 3] = [SCALE_DOWN, DISRUPTION, REMEDIATION];

/// All marks.
pub const ALL: [Mark; 5] = [CORDON, EXCLUSION, SCALE_DOWN, DISRUPTION, REMEDIATION];

fn is_true(map: &BTreeMap<String, String>, key: &str) -> bool {
    map.get(key).is_some_and(|value| value == "true")
}

impl Mark {
    /// What the mark says, if there is one.
    #[must_use]
    pub fn of<'a>(&self, node: &'a Node) -> Option<&'a str> {
        node.annotations().get(self.key).map(String::as_str)
    }

    /// The value of an annotation or a label, whether or not it has an effect.
    #[must_use]
    pub fn value<'a>(&self, node: &'a Node) -> Option<&'a str> {
        let map = match self.field {
            ["metadata", "annotations", ..] => node.annotations(),
            ["metadata", "labels", ..] => node.labels(),
            _ => return None,
        };
        map.get(self.name()).map(String::as_str)
    }

    /// The field's own name, for example that of the annotation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.field.last().copied().unwrap_or_default()
    }

    /// Whether the field is set and has an effect, by Careen or by somebody else.
    #[must_use]
    pub fn is_set(&self, node: &Node) -> bool {
        (self.is_set)(node)
    }

    /// Whether the field is set with Careen's mark, of any upgrade.
    #[must_use]
    pub fn is_ours(&self, node: &Node) -> bool {
        self.of(node).is_some() && !self.is_left(node)
    }

    /// Whether a mark exists and marks nothing: the field is not set, has a value without effect,
    /// or somebody else has set it since.
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

/// What a mark says: `ID`, or `ID was VALUE` if the field had another value before. No id has a
/// blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// The upgrade.
    pub id: &'a str,
    /// The value that the field had before Careen set it, and gets back.
    pub former: Option<&'a str>,
}

const WAS: &str = " was ";

impl<'a> Text<'a> {
    /// Reads it. What has another form is the id of no upgrade.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        match text.split_once(WAS) {
            Some((id, former)) => Self {
                id,
                former: Some(former),
            },
            None => Self {
                id: text,
                former: None,
            },
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)?;
        self.former
            .map_or(Ok(()), |former| write!(f, "{WAS}{former}"))
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
    fn text_of_a_mark_reads_back_as_it_was_written() {
        for former in [None, Some("false"), Some(""), Some("it was true")] {
            let id = "r1-aaaaaaaaaaaa";
            let text = Text { id, former };
            assert_eq!(Text::of(&text.to_string()), text);
        }
        assert_eq!(Text::of("u1").to_string(), "u1");
    }

    #[test]
    fn a_mark_over_a_value_without_effect_is_left() {
        let node = |value: &str| -> Node {
            let annotations =
                json!({ names::SCALE_DOWN_REFUSED_BY: "u1", names::SCALE_DOWN_REFUSED: value });
            let meta = json!({ "name": "n", "annotations": annotations });
            serde_json::from_value(json!({ "metadata": meta })).unwrap()
        };
        assert!(SCALE_DOWN.is_left(&node("false")));
        assert!(SCALE_DOWN.is_ours(&node("true")));
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
