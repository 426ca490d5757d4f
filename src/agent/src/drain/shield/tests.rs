use super::*;
use crate::cluster::marks::SHIELDS;
use upgrade::names;

const OURS: &str = "r2-bbbbbbbbbbbb";
const FORMER: &str = "r1-aaaaaaaaaaaa";

fn node(annotations: &Value, labels: &Value) -> Node {
    let meta = json!({ "name": "n", "annotations": annotations, "labels": labels });
    serde_json::from_value(json!({ "metadata": meta })).unwrap()
}

fn bare() -> Node {
    node(&json!({}), &json!({}))
}

/// The Node with all shields and the marks of this upgrade.
fn shielded(mark: &str) -> Node {
    let annotations = json!({
        names::SCALE_DOWN_REFUSED: "true", names::SCALE_DOWN_REFUSED_BY: mark,
        names::DISRUPTION_REFUSED: "true", names::DISRUPTION_REFUSED_BY: mark,
        names::REMEDIATION_REFUSED_BY: mark,
    });
    node(&annotations, &json!({ names::REMEDIATION_REFUSED: "true" }))
}

fn ours() -> UpgradeId {
    OURS.parse().unwrap()
}

/// The Node as it is on the wire.
fn wire(node: &Node) -> Value {
    serde_json::to_value(node).unwrap()
}

/// The Node after a server applied the operations, or `None` if a test in them fails.
fn after(operations: Vec<PatchOperation>, node: &Node) -> Option<Node> {
    let mut meta =
        json!({ "name": "n", "annotations": node.annotations(), "labels": node.labels() });
    // A server takes null for an absent field, and omits an empty map. This library does not
    // know that.
    for shield in SHIELDS.iter().filter(|shield| shield.value(node).is_none()) {
        meta[shield.field[1]][shield.field[2]] = Value::Null;
    }
    if node.labels().is_empty() {
        meta["labels"] = Value::Null;
    }
    let mut whole = json!({ "metadata": meta });
    json_patch::patch(&mut whole, &Patch(operations)).ok()?;
    for map in ["annotations", "labels"] {
        let map = &mut whole["metadata"][map];
        match map.as_object_mut() {
            Some(map) => map.retain(|_, value| !value.is_null()),
            None => *map = json!({}),
        }
    }
    serde_json::from_value(whole).ok()
}

fn all() -> Vec<Mark> {
    wanted(&Neighbours::default())
}

#[test]
fn the_shields_are_set_with_marks_and_all_go_again() {
    let up = after(raised(&bare(), &ours(), &all()), &bare()).unwrap();
    assert_eq!(wire(&up), wire(&shielded(OURS)));
    assert_eq!(raised(&up, &ours(), &all()), [], "nothing is left to do");
    let down = after(lowered(&up, &SHIELDS).unwrap().0, &up).unwrap();
    assert_eq!(wire(&down), wire(&bare()));
    assert_eq!(lowered(&bare(), &SHIELDS), None);
}

#[test]
fn a_shield_that_was_set_alone_goes_again() {
    for shield in all() {
        let one = std::slice::from_ref(&shield);
        let up = after(raised(&bare(), &ours(), one), &bare()).unwrap();
        assert!(shield.is_ours(&up), "{}", shield.key);
        let down = after(lowered(&up, &SHIELDS).unwrap().0, &up).unwrap();
        assert_eq!(wire(&down), wire(&bare()));
    }
}

#[test]
fn a_shield_that_the_policy_switches_off_is_not_set() {
    let neighbours = Neighbours {
        karpenter: false,
        ..Neighbours::default()
    };
    let up = after(raised(&bare(), &ours(), &wanted(&neighbours)), &bare()).unwrap();
    assert!(!up.annotations().contains_key(names::DISRUPTION_REFUSED));
    assert!(up.annotations().contains_key(names::SCALE_DOWN_REFUSED));
}

#[test]
fn an_effective_key_of_somebody_else_stays_as_it_is() {
    let theirs = node(
        &json!({ names::SCALE_DOWN_REFUSED: "true", names::DISRUPTION_REFUSED: "true" }),
        &json!({ names::REMEDIATION_REFUSED: "" }),
    );
    assert_eq!(raised(&theirs, &ours(), &all()), []);
    assert_eq!(lowered(&theirs, &SHIELDS), None);
    let raced = raised(&bare(), &ours(), &all());
    assert!(after(raced, &theirs).is_none(), "set just then");
}

#[test]
fn a_value_without_effect_is_replaced_and_comes_back() {
    let theirs = node(
        &json!({ names::SCALE_DOWN_REFUSED: "false", names::DISRUPTION_REFUSED: "" }),
        &json!({}),
    );
    let up = after(raised(&theirs, &ours(), &all()), &theirs).unwrap();
    assert!(SHIELDS.iter().all(|shield| shield.is_ours(&up)));
    assert_eq!(raised(&up, &ours(), &all()), [], "nothing is left to do");
    let next: UpgradeId = "r3-cccccccccccc".parse().unwrap();
    let next = after(raised(&up, &next, &all()), &up).unwrap();
    for up in [up, next] {
        let down = after(lowered(&up, &SHIELDS).unwrap().0, &up).unwrap();
        assert_eq!(wire(&down), wire(&theirs));
    }
}

#[test]
fn a_lost_key_is_set_again() {
    for (found, former) in [(None, None), (Some("false"), Some("false"))] {
        let mut lost = shielded(OURS);
        let annotations = lost.annotations_mut();
        annotations.remove(names::SCALE_DOWN_REFUSED);
        let set = found.map(|found: &str| (names::SCALE_DOWN_REFUSED.to_owned(), found.into()));
        annotations.extend(set);
        let up = after(restored(&lost, &ours(), &SCALE_DOWN), &lost).unwrap();
        assert!(SCALE_DOWN.is_ours(&up));
        assert_eq!(restored(&up, &ours(), &SCALE_DOWN), [], "it is there");
        let down = after(lowered(&up, &[SCALE_DOWN]).unwrap().0, &up).unwrap();
        assert_eq!(SCALE_DOWN.value(&down), former);
    }
    let mut former = shielded(FORMER);
    former.annotations_mut().remove(names::SCALE_DOWN_REFUSED);
    assert_eq!(restored(&former, &ours(), &SCALE_DOWN), []);
    assert_eq!(restored(&shielded(OURS), &ours(), &DISRUPTION), []);
}

#[test]
fn a_key_that_is_replaced_just_then_stays() {
    let up = shielded(OURS);
    let mut theirs = up.clone();
    let key = names::SCALE_DOWN_REFUSED.to_owned();
    theirs.annotations_mut().insert(key, "false".to_owned());
    assert!(after(lowered(&up, &[SCALE_DOWN]).unwrap().0, &theirs).is_none());
    let left = after(
        crate::drain::change::unmarked(&SCALE_DOWN, &theirs),
        &theirs,
    )
    .unwrap();
    assert_eq!(SCALE_DOWN.value(&left), Some("false"));
    assert_eq!(SCALE_DOWN.of(&left), None);
}

#[test]
fn a_shield_of_a_former_upgrade_becomes_this_ones() {
    let former = shielded(FORMER);
    let up = after(raised(&former, &ours(), &all()), &former).unwrap();
    assert_eq!(wire(&up), wire(&shielded(OURS)));
}

#[test]
fn a_key_that_a_person_sets_under_our_mark_stays() {
    let mut theirs = shielded(OURS);
    let key = format!("f:{}", names::SCALE_DOWN_REFUSED);
    let entry = json!([{ "manager": "kubectl", "fieldsV1": { "f:metadata": { "f:annotations": { key: {} } } } }]);
    theirs.metadata.managed_fields = serde_json::from_value(entry).unwrap();
    let left = after(lowered(&theirs, &SHIELDS).unwrap().0, &theirs).unwrap();
    assert_eq!(
        left.annotations()
            .get(names::SCALE_DOWN_REFUSED)
            .map(String::as_str),
        Some("true")
    );
    assert!(!left.labels().contains_key(names::REMEDIATION_REFUSED));
}
