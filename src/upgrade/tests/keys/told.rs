//! What a Node and its answer say of a key that holds an upgrade, and of one that does not.

use super::*;

fn looks_paused(seen: Observation) -> Observation {
    let keys = label("careen.dev/paused", "backup");
    seen.with(|seen| {
        seen.node.paused = keys.pause;
        seen.node.strays = keys.strays;
    })
}

#[test]
fn pause_lookalike_blocks_new_upgrades_and_steps_before_arming() {
    let (_, act) = next(&looks_paused(asked()), &Record::default());
    assert_eq!(act, Act::Wait(None));
    for phase in phases().into_iter().filter(Phase::can_be_withdrawn) {
        let seen = looks_paused(asked())
            .with(|seen| seen.machine.deployments = on_trial().machine.deployments);
        let (_, act) = next(&seen, &upgrade_in(phase.clone()));
        assert_eq!(act, Act::Wait(None), "{phase:?}");
    }
}

#[test]
fn the_node_says_which_key_holds_it_and_how_it_is_taken_off() {
    let report = report(&Ok(Record::default()), &looks_paused(asked()), None).unwrap();
    let reason = report.now().unwrap();
    assert_eq!(reason.code(), "Paused");
    let text = reason.to_string();
    for words in [
        "label careen.dev/paused (\"backup\") looks like a pause",
        "the annotation careen.dev/paused",
        "kubectl label node NODE careen.dev/paused-",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

/// A person who misspelt a request hears nothing else.
#[test]
fn an_unknown_key_is_told_though_nothing_was_ever_asked() {
    let keys = annotation("careen.dev/images", "ostree:x:y");
    let seen = quiet().with(|seen| seen.node.strays = keys.strays);
    let told = report(&Ok(Record::default()), &seen, None).unwrap();
    let line = "annotation careen.dev/images (annotation careen.dev/image is perhaps meant)";
    assert_eq!(told.status.unknown_keys, [line]);
    assert_eq!((told.answer, told.now()), (None, None));
    assert!(told.unknown().unwrap().contains(line));
    assert_eq!(report(&Ok(Record::default()), &quiet(), None), None);
}

#[test]
fn an_unknown_key_holds_up_no_upgrade_and_changes_no_answer() {
    let keys = annotation("careen.dev/images", "ostree:x:y");
    let seen = asked().with(|seen| seen.node.strays = keys.strays);
    assert_eq!(begun(&next(&seen, &Record::default()).1), Some("Fetch"));
    let upgraded = on_trial().with(|new| {
        new.node.strays = seen.node.strays;
        new.machine.booted = deployment('b');
    });
    let told = report(&Ok(upgrade_in(Phase::Upgraded)), &upgraded, None).unwrap();
    assert_eq!(told.answer, Some(report::Answer::Upgraded));
    assert_eq!(told.status.code, None);
    assert_eq!(told.status.unknown_keys.len(), 1);
}

/// Old readers take a pause for one by its code.
#[test]
fn a_pause_is_written_as_before_and_read_with_and_without_a_key() {
    let plain = Pause::from("an audit").reason();
    let text = serde_json::to_string(&plain).unwrap();
    assert_eq!(text, r#"{"code":"Paused","why":"an audit"}"#);
    let looks = looks_paused(quiet()).node.paused.unwrap().reason();
    let text = serde_json::to_string(&looks).unwrap();
    assert_eq!(serde_json::from_str::<Reason>(&text).unwrap(), looks);
}
