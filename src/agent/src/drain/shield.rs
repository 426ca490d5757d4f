//! The shields: keys on the Node, each with Careen's own mark, that keep autoscalers and
//! remediators off while the node is away. Such a program takes a drained node for idle, and a
//! rebooting one for dead, and deletes or resets the machine (kubernetes/autoscaler#8494,
//! kubereboot/kured#1309).
//!
//! The cordon's write sets them ([`super::cordon`]). They stay when the node is given back, until
//! it has settled. A key that somebody else has set stays theirs if its value keeps the program
//! off. A value without effect, such as `false`, is replaced meanwhile. The mark keeps it, so that
//! it comes back in the same write that removes the mark.

use client::Node;
use json_patch::jsonptr::PointerBuf;
use json_patch::{Patch, PatchOperation};
use kube::ResourceExt;
use serde_json::{Value, json};
use upgrade::UpgradeId;
use upgrade::policy::Neighbours;

use super::change::{add, field_at, mark_at, remove, test};
use crate::cluster::marks::{DISRUPTION, Mark, REMEDIATION, SCALE_DOWN, Text};

/// The shields that the policy wants.
pub fn wanted(neighbours: &Neighbours) -> Vec<Mark> {
    let all = [
        (neighbours.cluster_autoscaler, SCALE_DOWN),
        (neighbours.karpenter, DISRUPTION),
        (neighbours.medik8s, REMEDIATION),
    ];
    let wanted = all.into_iter().filter(|(wanted, _)| *wanted);
    wanted.map(|(_, shield)| shield).collect()
}

/// The operations that set these shields for the upgrade. A shield that is left from a former
/// upgrade, because the node has not settled yet, becomes this one's.
pub fn raised(node: &Node, id: &UpgradeId, shields: &[Mark]) -> Vec<PatchOperation> {
    shields
        .iter()
        .flat_map(|shield| raise(node, id, shield))
        .collect()
}

fn raise(node: &Node, id: &UpgradeId, shield: &Mark) -> Vec<PatchOperation> {
    if !shield.is_set(node) {
        let former = shield.value(node);
        return set(
            node,
            shield,
            Text {
                id: id.as_str(),
                former,
            },
        );
    }
    let former = shield.of(node).filter(|_| shield.is_ours(node));
    let former = former.filter(|text| Text::of(text).id != id.as_str());
    former.map_or_else(Vec::new, |text| {
        let ours = Text {
            id: id.as_str(),
            ..Text::of(text)
        };
        vec![test(mark_at(shield), json!(text)), mark(shield, ours)]
    })
}

/// The operations that set the field and its mark, on the condition that the field is as it was
/// read.
fn set(node: &Node, shield: &Mark, text: Text<'_>) -> Vec<PatchOperation> {
    let (at, value) = first_of(node, shield);
    // An API server takes null for an absent field.
    let found = shield.value(node).map_or(Value::Null, |found| json!(found));
    vec![test(at.clone(), found), mark(shield, text), add(at, value)]
}

fn mark(shield: &Mark, text: Text<'_>) -> PatchOperation {
    add(mark_at(shield), json!(text.to_string()))
}

/// The operations that set a key of this upgrade once more, which somebody has removed or replaced
/// by a value without effect while the node is away. Empty if the key has an effect, or is not of
/// this upgrade.
pub fn restored(node: &Node, id: &UpgradeId, shield: &Mark) -> Vec<PatchOperation> {
    let text = shield.of(node).map(Text::of);
    let lost = |text: &Text<'_>| !shield.is_set(node) && text.id == id.as_str();
    let Some(text) = text.filter(lost) else {
        return Vec::new();
    };
    // A value that somebody has set since comes back at the end, and else the one from before.
    let former = shield.value(node).or(text.former);
    set(node, shield, Text { former, ..text })
}

/// The change that removes those of these shields that are Careen's, with their marks, or `None` if
/// there is none.
pub fn lowered(node: &Node, shields: &[Mark]) -> Option<Patch> {
    let ours = shields.iter().filter(|shield| shield.is_ours(node));
    let all: Vec<_> = ours.flat_map(|shield| lower(node, shield)).collect();
    (!all.is_empty()).then_some(Patch(all))
}

/// The field gets back the value that it had before, if it had one.
fn lower(node: &Node, shield: &Mark) -> [PatchOperation; 4] {
    let text = shield.of(node);
    let former = text.and_then(|text| Text::of(text).former);
    let back = former.map_or_else(
        || remove(field_at(shield)),
        |former| add(field_at(shield), json!(former)),
    );
    let found = shield.value(node);
    [
        test(mark_at(shield), json!(text)),
        test(field_at(shield), json!(found)),
        remove(mark_at(shield)),
        back,
    ]
}

/// Where the field is added, and what: a Node without labels needs the map first. A Node with a
/// request has annotations.
fn first_of(node: &Node, shield: &Mark) -> (PointerBuf, Value) {
    let [top, map, name] = shield.field else {
        return (field_at(shield), json!("true"));
    };
    if *map == "labels" && node.labels().is_empty() {
        let labels = json!({ *name: "true" });
        return (PointerBuf::from_tokens([*top, *map]), labels);
    }
    (field_at(shield), json!("true"))
}

#[cfg(test)]
mod tests;
