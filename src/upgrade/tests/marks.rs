//! A mark of ours that is left on the Node without the cordon or the label that it marked.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

fn left(seen: Observation) -> Observation {
    seen.with(|seen| seen.node.stale_mark = true)
}

fn seen_in(phase: &Phase) -> Observation {
    let new_runs = matches!(
        phase,
        Phase::Trial { .. } | Phase::Healthy { .. } | Phase::Blessed | Phase::Upgraded
    );
    let there = asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments);
    if new_runs { on_trial() } else { there }
}

#[test]
fn a_left_mark_is_taken_off_in_every_phase() {
    for phase in phases() {
        let seen = left(seen_in(&phase));
        let (record, act) = next(&seen, &upgrade_in(phase.clone()));
        assert_eq!(act, Act::Begin(Step::Unmark), "{phase:?}");
        assert_eq!(phase_of(&record), phase);
    }
    let (_, act) = next(&left(quiet()), &Record::default());
    assert_eq!(act, Act::Begin(Step::Unmark), "nothing was ever asked");
}

#[test]
fn a_left_mark_is_taken_off_while_an_upgrade_is_held() {
    let held = left(seen_in(&Phase::Drained)).with(|seen| {
        seen.node.paused = Some("an audit".into());
        seen.node.uncordoned = true;
    });
    let (record, act) = next(&held, &upgrade_in(Phase::Drained));
    assert_eq!(act, Act::Begin(Step::Unmark));
    assert_eq!(phase_of(&record), Phase::Deployed, "pods may be back");
}

/// While its mark is taken off a person may cordon the node, and nothing would tell any more that
/// pods are back.
#[test]
fn uncordoned_node_is_drained_again_even_if_cordoned_meanwhile() {
    let uncordoned = left(seen_in(&Phase::Drained)).with(|seen| seen.node.uncordoned = true);
    let (record, act) = next(&uncordoned, &upgrade_in(Phase::Drained));
    assert_eq!(act, Act::Begin(Step::Unmark));
    let mut cordoned = seen_in(&Phase::Drained);
    cordoned.turn.finished = finished(Step::Unmark, Outcome::Done(Effect::Plain));
    let (_, act) = next(&cordoned, &record);
    assert_eq!(begun(&act), Some("Drain"));
}

#[test]
fn node_uncordoned_too_often_is_released_despite_a_left_mark() {
    let mut record = upgrade_in(Phase::Drained);
    record.upgrade.as_mut().unwrap().redo.drained = at_once().tries;
    let uncordoned = left(seen_in(&Phase::Drained)).with(|seen| seen.node.uncordoned = true);
    let (record, act) = next(&uncordoned, &record);
    assert_eq!(act, Act::Begin(Step::Release));
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}

/// The old system reads what a trial wrote, and a released one has no word for this step.
#[test]
fn the_record_never_names_the_removal_of_a_mark() {
    for phase in phases() {
        let before = upgrade_in(phase.clone());
        let (record, _) = next(&left(seen_in(&phase)), &before);
        let mut ended = left(seen_in(&phase));
        let refused = Reason::ApiAway { detail: "x".into() };
        ended.turn.finished = finished(Step::Unmark, Outcome::Failed(refused));
        let (after, _) = next(&ended, &record);
        for record in [record, after] {
            let text = serde_json::to_string(&record).unwrap();
            assert!(!text.contains("Unmark"), "{phase:?}: {text}");
        }
    }
}

#[test]
fn the_removal_of_a_mark_waits_for_the_api_server() {
    let away = left(asked()).with(|seen| seen.node.api = Api::Away);
    let (_, act) = next(&away, &upgrade_in(Phase::Upgraded));
    assert_eq!(act, Act::Wait(None), "its return is what wakes us");
}

#[test]
fn an_armed_trial_is_disarmed_before_a_mark_is_taken_off() {
    let armed = left(seen_in(&Phase::Drained)).with(|seen| seen.machine.one_shot = OneShot::Set);
    let (_, act) = next(&armed, &upgrade_in(Phase::Drained));
    assert_eq!(act, Act::Begin(Step::Disarm));
}

#[test]
fn a_mark_that_does_not_go_holds_up_no_upgrade() {
    let refused = Reason::ApiAway { detail: "x".into() };
    for outcome in [Outcome::Done(Effect::Plain), Outcome::Failed(refused)] {
        let tried = left(asked()).with(|seen| seen.turn.finished = finished(Step::Unmark, outcome));
        let (_, act) = next(&tried, &upgrade_in(Phase::Accepted));
        assert_eq!(begun(&act), Some("Fetch"));
    }
}

#[test]
fn a_mark_that_does_not_go_is_looked_at_again_without_spinning() {
    let mut seen = left(quiet().with(|seen| seen.node.request = Asked::Nothing));
    let refused = Reason::ApiAway { detail: "x".into() };
    seen.turn.finished = finished(Step::Unmark, Outcome::Failed(refused));
    let (record, act) = next(&seen, &Record::default());
    let Act::Wait(Some(due)) = act else {
        panic!("{act:?}")
    };
    assert!(due > seen.turn.now);
    (seen.turn.finished, seen.turn.now) = (None, due);
    assert_eq!(next(&seen, &record).1, Act::Begin(Step::Unmark));
}

#[test]
fn a_step_under_way_is_not_interrupted_for_a_mark() {
    let running = left(asked()).with(|seen| seen.turn.running = Some(drain()));
    let (_, act) = next(&running, &upgrade_in(Phase::Deployed));
    assert_eq!(act, Act::Wait(None));
}
