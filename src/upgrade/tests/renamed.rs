//! A machine that joins its cluster again under another name in the middle of an upgrade.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

/// The Node as it is called now, asked for the same.
fn renamed(seen: Observation) -> Observation {
    seen.with(|seen| seen.node.name = Some("node-b".into()))
}

/// In this phase, and taken from its users as `node-a`.
fn taken_in(phase: Phase) -> Record {
    let (mut record, _) = next(&prepared(), &upgrade_in(Phase::Deployed));
    let up = record.upgrade.as_mut().unwrap();
    (up.phase, up.attempt.saved) = (phase, true);
    record
}

/// The Node that the record says was taken.
fn node_of(record: &Record) -> Option<&str> {
    let taken = record.upgrade.as_ref().unwrap().custody.taken();
    taken.unwrap().node.as_deref()
}

fn prepared() -> Observation {
    asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments)
}

fn why(record: &Record) -> String {
    let Phase::Reverting { reason } = phase_of(record) else {
        panic!("{:?}", phase_of(record))
    };
    reason.to_string()
}

#[test]
fn node_renamed_while_taken_ends_its_upgrade_and_names_both() {
    for phase in [
        Phase::Deployed,
        Phase::Drained,
        Phase::Armed { boot: boot(1) },
    ] {
        let (record, act) = next(&renamed(prepared()), &taken_in(phase));
        let said = why(&record);
        assert!(said.contains("node-a") && said.contains("node-b"), "{said}");
        assert_eq!(begun(&act), Some("Release"), "of what is in its reach");
    }
}

#[test]
fn the_drain_of_a_node_that_is_renamed_in_it_is_stopped() {
    let seen = prepared().with(|seen| seen.turn.running = Some(drain()));
    let record = taken_in(Phase::Deployed);
    assert_eq!(next(&seen, &record).1, Act::Wait(None));
    assert_eq!(next(&renamed(seen), &record).1, Act::Cancel);
}

#[test]
fn renamed_armed_node_is_disarmed_without_counting_a_trial() {
    let seen = prepared().with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.turn.finished = just_armed();
    });
    let mut armed = taken_in(Phase::Armed { boot: boot(1) });
    armed.upgrade.as_mut().unwrap().attempt.tries = 1;
    assert_eq!(begun(&next(&seen, &armed).1), Some("Reboot"));
    let (record, act) = next(&renamed(seen), &armed);
    assert_eq!(begun(&act), Some("Disarm"));
    assert!(why(&record).contains("node-b"));
    assert_eq!(record.upgrade.unwrap().attempt.tries, 0);
}

#[test]
fn node_renamed_before_its_drain_or_after_its_release_proceeds() {
    let fetched = upgrade_in(Phase::Fetched);
    assert_eq!(begun(&next(&renamed(asked()), &fetched).1), Some("Verify"));
    let given_back = renamed(prepared())
        .with(|seen| seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain)));
    let (record, act) = next(&given_back, &taken_in(Phase::Deployed));
    assert_eq!(begun(&act), Some("Drain"));
    assert_eq!(node_of(&record), Some("node-b"));
}

#[test]
fn unregistered_node_and_node_of_an_older_agent_proceed() {
    let unseen = prepared().with(|seen| seen.node.name = None);
    let (_, act) = next(&unseen, &taken_in(Phase::Drained));
    assert_eq!(begun(&act), Some("Arm"));
    let mut older = taken_in(Phase::Drained);
    older.upgrade.as_mut().unwrap().custody = taken(|_| ());
    assert_eq!(begun(&next(&renamed(prepared()), &older).1), Some("Arm"));
}
