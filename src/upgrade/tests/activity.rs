//! When agents may be changed on a node, by what the record says.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

fn activity(record: &Record) -> Activity {
    Activity::of(record)
}

#[test]
fn a_node_that_was_never_asked_is_free() {
    assert_eq!(activity(&Record::default()), Activity::Free);
}

#[test]
fn it_is_free_again_when_the_upgrade_has_ended_and_not_before() {
    for phase in phases() {
        let record = upgrade_in(phase.clone());
        let is_free = activity(&record) == Activity::Free;
        assert_eq!(is_free, phase.is_end(), "{}", phase.name());
    }
}

#[test]
fn from_arming_to_the_verdict_everything_is_frozen() {
    for phase in phases() {
        let has_armed = matches!(
            phase,
            Phase::Armed { .. }
                | Phase::Trial { .. }
                | Phase::Healthy { .. }
                | Phase::Blessed
                | Phase::Reverting { .. }
        );
        let is_frozen = activity(&upgrade_in(phase.clone())) == Activity::Frozen;
        assert_eq!(is_frozen, has_armed, "{}", phase.name());
    }
}

#[test]
fn between_two_trials_it_stays_frozen() {
    let mut record = upgrade_in(Phase::Drained);
    record.upgrade.as_mut().unwrap().attempt.tries = 1;
    assert_eq!(activity(&record), Activity::Frozen);
}

#[test]
fn the_stronger_activity_is_the_greater() {
    let rising = [
        Activity::Free,
        Activity::Waits,
        Activity::UnderWay,
        Activity::Frozen,
    ];
    assert!(rising.is_sorted());
}

/// What was decided of this phase outside of the operator's hours, or while the Node is paused.
fn waiting(phase: &Phase) -> [Record; 2] {
    let there = asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments);
    let paused = there
        .clone()
        .with(|seen| seen.node.paused = Some("stocktaking".into()));
    let (held, _) = next(&paused, &upgrade_in(phase.clone()));
    let (closed, _) = next_with(&there, &upgrade_in(phase.clone()), &Ok(by_night()));
    [held, closed]
}

/// The scene's clock says eight in the morning.
fn by_night() -> Policy {
    let mut policy = at_once();
    let hours = "daily 22:00-06:00".parse().unwrap();
    policy.window.open.push(hours);
    policy
}

/// The phases in which a node is not taken from its users yet.
fn early() -> [Phase; 4] {
    [
        Phase::Accepted,
        Phase::Fetched,
        Phase::Verified,
        Phase::Deployed,
    ]
}

#[test]
fn upgrade_waiting_for_window_or_pause_permits_agent_changes() {
    for phase in early() {
        for record in waiting(&phase) {
            assert_eq!(activity(&record), Activity::Waits, "{phase:?}");
        }
    }
}

#[test]
fn step_that_ends_a_wait_marks_the_upgrade_as_under_way() {
    let seen = asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments);
    for phase in early() {
        for record in waiting(&phase) {
            let (record, act) = next(&seen, &record);
            assert!(begun(&act).is_some(), "{phase:?}");
            assert_eq!(activity(&record), Activity::UnderWay, "{phase:?}");
        }
    }
}

#[test]
fn drained_or_tried_node_permits_no_agent_changes_while_waiting() {
    for record in waiting(&Phase::Drained) {
        assert_eq!(activity(&record), Activity::UnderWay);
    }
    for phase in early() {
        for mut record in waiting(&phase) {
            record.upgrade.as_mut().unwrap().attempt.tries = 1;
            assert_eq!(activity(&record), Activity::Frozen, "{phase:?}");
        }
    }
}

#[test]
fn taken_node_permits_no_agent_changes_until_its_release() {
    let since = || {
        Some(Moment {
            boot: boot(1),
            at: SinceBoot(1),
        })
    };
    let marks: [fn(&mut record::Taken, Option<Moment>); 5] = [
        |_, _| (),
        |taken, _| taken.prepared = true,
        |taken, _| taken.hooks_due = true,
        |taken, since| taken.excluded = since,
        |taken, since| taken.drain_begun = since,
    ];
    for mark in marks {
        for mut record in waiting(&Phase::Deployed) {
            let up = record.upgrade.as_mut().unwrap();
            up.custody = taken(|taken| mark(taken, since()));
            assert_eq!(activity(&record), Activity::UnderWay);
            let up = record.upgrade.as_mut().unwrap();
            up.custody = up.custody.give_back(None);
            assert_eq!(activity(&record), Activity::Waits);
        }
    }
}

#[test]
fn nor_one_with_a_step_whose_outcome_is_not_known() {
    for mut record in waiting(&Phase::Verified) {
        record.upgrade.as_mut().unwrap().intent = Some(Step::Rehearse);
        assert_eq!(activity(&record), Activity::UnderWay);
    }
}
