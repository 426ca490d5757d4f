//! When a request is taken, refused, heard or taken back.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

#[test]
fn a_request_is_taken_and_fetched_first() {
    let (record, act) = next(&asked(), &Record::default());
    assert_eq!(phase_of(&record), Phase::Accepted);
    assert_eq!(begun(&act), Some("Fetch"));
}

#[test]
fn the_image_that_runs_already_is_upgraded_at_once_and_touches_nothing() {
    let seen = quiet().with(|seen| seen.node.request = Asked::This(pinned('a')));
    let (record, act) = next(&seen, &Record::default());
    assert_eq!((phase_of(&record), begun(&act)), (Phase::Upgraded, None));
}

#[test]
fn a_ref_that_leads_to_the_image_that_runs_already_is_answered_and_not_fetched_again() {
    let seen = quiet().with(|seen| seen.node.request = Asked::This(raw("ostree:careen:os")));
    let (record, act) = next(&seen, &Record::default());
    let Act::Begin(fetch) = act else {
        panic!("{act:?}")
    };
    let fetched = Effect::Fetched {
        commit: digest('a'),
    };
    let fetched = seen
        .clone()
        .with(|seen| seen.turn.finished = finished(fetch, Outcome::Done(fetched)));
    let (record, act) = next(&fetched, &record);
    assert_eq!((phase_of(&record), act), (Phase::Upgraded, Act::Wait(None)));
    assert_eq!(next(&seen, &record), (record, Act::Wait(None)));
}

#[test]
fn an_answered_request_is_not_taken_again_while_it_stands() {
    let spent = Record {
        spent: Some(pinned('b')),
        ..Record::default()
    };
    assert_eq!(begun(&next(&asked(), &spent).1), None);
}

#[test]
fn a_request_set_again_after_its_removal_is_asked_again() {
    let end = Phase::Failed {
        reason: Reason::NoApiFromNewSystem,
    };
    let mut record = upgrade_in(end);
    record.spent = Some(pinned('b'));
    record.upgrade.as_mut().unwrap().closed = true;
    record.remember_bad(upgrade::record::BadImage {
        digest: digest('b'),
        because: "NoApiFromNewSystem".into(),
        id: "u1".parse().unwrap(),
        asked_again: false,
    });
    let (removed, _) = next(&quiet(), &record);
    let (again, act) = next(&asked(), &removed);
    assert_eq!(
        (phase_of(&again), begun(&act)),
        (Phase::Accepted, Some("Fetch"))
    );
}

#[test]
fn a_bad_image_under_another_name_is_refused_until_somebody_asks_for_it() {
    let mut record = Record {
        spent: Some(raw("ostree:careen:os")),
        ..Record::default()
    };
    record.remember_bad(upgrade::record::BadImage {
        digest: digest('b'),
        because: "Unhealthy".into(),
        id: "u1".parse().unwrap(),
        asked_again: false,
    });
    let (refused, act) = next(&asked(), &record);
    assert_eq!(begun(&act), None);
    assert!(matches!(
        refused.refused.unwrap().reason,
        Reason::RememberedBad { .. }
    ));
    let with_new_id = RawRequest {
        id: Some("u2".into()),
        ..pinned('b')
    };
    let (_, act) = next(
        &quiet().with(|seen| seen.node.request = Asked::This(with_new_id)),
        &record,
    );
    assert_eq!(begun(&act), Some("Fetch"));
}

#[test]
fn a_bad_image_that_a_ref_leads_to_is_refused_when_the_ref_is_resolved() {
    let taken = |id: Option<&str>| {
        let request = RawRequest {
            id: id.map(str::to_owned),
            ..raw("ostree:careen:os")
        };
        let seen = quiet().with(|seen| seen.node.request = Asked::This(request));
        let mut record = Record::default();
        record.remember_bad(upgrade::record::BadImage {
            digest: digest('b'),
            because: "Unhealthy".into(),
            id: "u1".parse().unwrap(),
            asked_again: false,
        });
        let (record, act) = next(&seen, &record);
        let Act::Begin(fetch) = act else {
            panic!("{act:?}")
        };
        let fetched = Effect::Fetched {
            commit: digest('b'),
        };
        let seen = seen.with(|seen| seen.turn.finished = finished(fetch, Outcome::Done(fetched)));
        phase_of(&next(&seen, &record).0)
    };
    for unasked in [None, Some("u1")] {
        assert!(matches!(
            taken(unasked),
            Phase::Reverting {
                reason: Reason::RememberedBad { .. }
            }
        ));
    }
    assert_eq!(taken(Some("u2")), Phase::Fetched, "a new id is asking");
}

#[test]
fn nothing_new_is_begun_while_paused() {
    let seen = asked().with(|seen| seen.node.paused = Some("holidays".into()));
    assert_eq!(
        next(&seen, &Record::default()),
        (Record::default(), Act::Wait(None))
    );
}

#[test]
fn a_withdrawn_request_stops_a_running_fetch_drain_and_snapshot_but_not_a_deployment() {
    let commit = digest('b');
    let running = |step, phase| {
        let seen = quiet().with(|seen| seen.turn.running = Some(step));
        next(&seen, &upgrade_in(phase)).1
    };
    assert_eq!(running(drain(), Phase::Deployed), Act::Cancel);
    assert_eq!(running(Step::Snapshot, Phase::Drained), Act::Cancel);
    assert_eq!(
        running(
            Step::Fetch {
                target: "ostree:careen:os".parse().unwrap()
            },
            Phase::Accepted
        ),
        Act::Cancel
    );
    assert_eq!(
        running(Step::Deploy { commit }, Phase::Verified),
        Act::Wait(None)
    );
}

#[test]
fn a_request_withdrawn_after_arming_is_not_heard() {
    let seen = quiet().with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.turn.finished = just_armed();
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let (_, act) = next(&seen, &upgrade_in(Phase::Armed { boot: boot(1) }));
    assert_eq!(begun(&act), Some("Reboot"));
}

#[test]
fn withdrawing_ends_in_failed_with_the_cordon_off_and_the_deployment_gone() {
    let mut record = upgrade_in(Phase::Deployed);
    let mut steps = Vec::new();
    let mut seen = quiet().with(|seen| seen.machine.deployments = on_trial().machine.deployments);
    for _ in 0..8 {
        let (after, act) = next(&seen, &record);
        record = after;
        seen.turn.finished = match act {
            Act::Begin(step) => {
                steps.push(step.name());
                finished(step, Outcome::Done(Effect::Plain))
            }
            Act::Cancel | Act::Wait(_) => None,
        };
    }
    assert_eq!(steps, ["Release", "Undo"]);
    assert_eq!(
        phase_of(&record),
        Phase::Failed {
            reason: Reason::Withdrawn
        }
    );
}

#[test]
fn a_request_withdrawn_before_its_image_was_resolved_ends_with_the_fetch_ended_that_may_still_run()
{
    // The agent was restarted meanwhile: it runs no step, and what it had begun lives on.
    let mut record = upgrade_in(Phase::Accepted);
    let up = record.upgrade.as_mut().unwrap();
    up.target.commit = None;
    up.custody = given_back();
    let (record, act) = next(&quiet(), &record);
    let undo = Step::Undo { commit: None };
    assert_eq!(act, Act::Begin(undo.clone()));
    assert!(!phase_of(&record).is_end(), "it may still run");
    let ended =
        quiet().with(|seen| seen.turn.finished = finished(undo, Outcome::Done(Effect::Plain)));
    let reason = Reason::Withdrawn;
    assert_eq!(phase_of(&next(&ended, &record).0), Phase::Failed { reason });
}

#[test]
fn another_request_that_stands_when_one_ends_is_taken_without_anything_else_happening() {
    let other = quiet().with(|seen| seen.node.request = Asked::This(pinned('c')));
    let mut record = upgrade_in(Phase::Reverting {
        reason: Reason::Withdrawn,
    });
    let up = record.upgrade.as_mut().unwrap();
    (up.custody, up.cleaned) = (given_back(), true);
    let (ended, act) = next(&other, &record);
    assert!(matches!(phase_of(&ended), Phase::Failed { .. }));
    let Act::Wait(Some(soon)) = act else {
        panic!("{act:?}: nothing would wake it")
    };
    let later = other.with(|seen| seen.turn.now = soon);
    assert_eq!(begun(&next(&later, &ended).1), Some("Fetch"));
}

#[test]
fn a_request_that_was_withdrawn_through_another_is_taken_again_when_it_is_set_again_under_its_own_id()
 {
    let first = RawRequest {
        id: Some("u1".into()),
        ..pinned('b')
    };
    let asks = |request: &RawRequest| {
        quiet().with(|seen| seen.node.request = Asked::This(request.clone()))
    };
    let mut record = upgrade_in(Phase::Accepted);
    record.upgrade.as_mut().unwrap().request = first.clone();
    let (mut record, _) = next(&asks(&pinned('c')), &record);
    assert_eq!(
        phase_of(&record),
        Phase::Reverting {
            reason: Reason::Withdrawn
        }
    );
    let up = record.upgrade.as_mut().unwrap();
    (up.custody, up.cleaned) = (given_back(), true);
    // The requester is back at the first before the other was taken.
    let (ended, _) = next(&asks(&first), &record);
    assert!(matches!(phase_of(&ended), Phase::Failed { .. }));
    let (taken, act) = next(&asks(&first), &ended);
    assert_eq!(
        (phase_of(&taken), begun(&act)),
        (Phase::Accepted, Some("Fetch"))
    );
    assert_eq!(taken.upgrade.unwrap().id.as_str(), "u1");
}

#[test]
fn an_agent_that_has_just_started_hears_of_a_withdrawal_before_it_takes_the_node() {
    let unheard = asked().with(|seen| {
        seen.node.request = Asked::Unknown;
        seen.node.api = Api::Away;
        seen.turn.started = SinceBoot(90_000);
        seen.turn.now = SinceBoot(100_000);
    });
    let (_, act) = next(&unheard, &upgrade_in(Phase::Deployed));
    assert_eq!(act, Act::Wait(Some(SinceBoot(180_000))));
}
