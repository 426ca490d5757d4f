//! The Node's pause: nothing new is begun while it is there, and everything comes to its end.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

const WHY: &str = "an audit";

fn paused(seen: Observation) -> Observation {
    seen.with(|seen| seen.node.paused = Some(WHY.into()))
}

fn two_systems(seen: Observation) -> Observation {
    seen.with(|seen| seen.machine.deployments = on_trial().machine.deployments)
}

fn before_arming() -> Vec<Phase> {
    let before = phases().into_iter();
    before.filter(Phase::can_be_withdrawn).collect()
}

fn told(seen: &Observation, record: Record) -> Report {
    report(&Ok(record), seen, None).unwrap()
}

#[test]
fn unarmed_upgrade_starts_no_step_until_the_pause_ends() {
    for phase in before_arming() {
        let seen = two_systems(asked());
        let (held, act) = next(&paused(seen.clone()), &upgrade_in(phase.clone()));
        assert_eq!(act, Act::Wait(None), "{phase:?}");
        assert_eq!(phase_of(&held), phase);
        let (_, resumed) = next(&seen, &held);
        let (_, never_paused) = next(&seen, &upgrade_in(phase.clone()));
        assert_eq!(resumed, never_paused, "{phase:?}");
        assert!(begun(&resumed).is_some(), "{phase:?}");
    }
}

#[test]
fn pause_lets_the_running_step_finish_and_starts_no_other() {
    let running = paused(two_systems(asked())).with(|seen| seen.turn.running = Some(drain()));
    let (record, act) = next(&running, &upgrade_in(Phase::Deployed));
    assert_eq!(act, Act::Wait(None), "it is not cut off");
    let ended = paused(two_systems(asked()))
        .with(|seen| seen.turn.finished = finished(drain(), Outcome::Done(Effect::Plain)));
    let (record, act) = next(&ended, &record);
    assert_eq!(
        (phase_of(&record), act),
        (Phase::Drained, Act::Wait(None)),
        "drained, and not armed"
    );
}

#[test]
fn an_upgrade_that_is_armed_goes_on() {
    let armed = paused(two_systems(asked())).with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.turn.finished = just_armed();
    });
    let (_, act) = next(&armed, &upgrade_in(Phase::Armed { boot: boot(1) }));
    assert_eq!(begun(&act), Some("Reboot"));
    let proven = paused(on_trial()).with(|seen| seen.turn.health = healthy());
    let (_, act) = next(&proven, &upgrade_in(Phase::Trial { boot: boot(2) }));
    assert_eq!(begun(&act), Some("Bless"));
}

#[test]
fn an_upgrade_that_is_paused_can_be_withdrawn() {
    for phase in before_arming() {
        let (held, _) = next(&paused(two_systems(asked())), &upgrade_in(phase.clone()));
        let (record, act) = next(&paused(two_systems(quiet())), &held);
        assert_eq!(begun(&act), Some("Release"), "{phase:?}");
        assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
    }
}

#[test]
fn a_trial_that_fell_back_is_not_tried_again_while_paused() {
    let back = paused(two_systems(asked())).with(|seen| seen.turn.boot = boot(3));
    let (record, act) = next(&back, &upgrade_in(Phase::Trial { boot: boot(2) }));
    assert_eq!((phase_of(&record), act), (Phase::Drained, Act::Wait(None)));
}

#[test]
fn restarted_agent_stays_paused_until_it_has_seen_the_node() {
    let (held, _) = next(&paused(two_systems(asked())), &upgrade_in(Phase::Deployed));
    let blind = two_systems(quiet()).with(|seen| {
        seen.node.request = Asked::Unknown;
        seen.node.api = Api::Away;
    });
    assert_eq!(next(&blind, &held), (held, Act::Wait(None)));
}

#[test]
fn a_held_upgrade_says_why_and_that_it_is_in_progress() {
    let seen = paused(two_systems(asked()));
    let report = told(&seen, upgrade_in(Phase::Deployed));
    assert_eq!(report.answer, Some(report::Answer::InProgress));
    assert_eq!(report.reason, Some(Reason::paused(WHY, None)));
    assert_eq!(report.status.paused.as_deref(), Some(WHY));
    assert_eq!(report.status.code.as_deref(), Some("Paused"));
}

#[test]
fn trial_under_a_pause_reports_no_hindrance() {
    let report = told(
        &paused(on_trial()),
        upgrade_in(Phase::Trial { boot: boot(2) }),
    );
    assert_eq!(report.reason, None);
    assert_eq!(report.status.paused.as_deref(), Some(WHY));
}

#[test]
fn the_first_request_of_all_waits_and_is_not_answered() {
    let report = told(&paused(asked()), Record::default());
    assert_eq!((report.answer, &report.reason), (None, &None));
    assert_eq!(report.waits, Some(Reason::paused(WHY, None)));
    assert_eq!(report.now(), report.waits.as_ref());
}

#[test]
fn a_request_that_waits_leaves_the_answer_of_the_one_before() {
    let mut record = upgrade_in(Phase::Failed {
        reason: Reason::Withdrawn { replaced_by: None },
    });
    record.spent = Some(pinned('c'));
    record.upgrade.as_mut().unwrap().closed = true;
    let report = told(&paused(asked()), record);
    assert_eq!(report.answer, Some(report::Answer::Failed));
    assert_eq!(report.reason, Some(Reason::Withdrawn { replaced_by: None }));
    assert_eq!(report.waits, Some(Reason::paused(WHY, None)));
}

#[test]
fn paused_node_without_a_request_reports_nothing() {
    assert_eq!(report(&Ok(Record::default()), &paused(quiet()), None), None);
}

#[test]
fn a_reason_without_end_is_cut() {
    let seen = asked().with(|seen| seen.node.paused = Some("x".repeat(100_000).into()));
    let status = told(&seen, upgrade_in(Phase::Deployed)).status;
    assert!(serde_json::to_string(&status).unwrap().len() < 3000);
}
