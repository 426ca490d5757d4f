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
fn request_for_the_running_image_is_upgraded_without_a_step() {
    let seen = quiet().with(|seen| seen.node.request = Asked::This(pinned('a')));
    let (record, act) = next(&seen, &Record::default());
    assert_eq!((phase_of(&record), begun(&act)), (Phase::Upgraded, None));
}

#[test]
fn ref_resolving_to_the_running_image_is_fetched_only_once() {
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

/// Asked for this image, and for this version in it; the node runs v1.35.4.
fn with_version(image: RawRequest, version: &str) -> Observation {
    let raw = RawRequest {
        kubernetes: Some(version.into()),
        ..image
    };
    quiet().with(|seen| seen.node.request = Asked::This(raw))
}

#[test]
fn running_image_of_another_version_than_asked_for_is_refused() {
    let (record, _) = next(&with_version(pinned('a'), "v1.36.3"), &Record::default());
    assert!(record.upgrade.is_none());
    let reason = record.refused.unwrap().reason;
    assert!(matches!(reason, Reason::VersionMismatch { .. }), "{reason}");
    let (record, _) = next(&with_version(pinned('a'), "v1.35.4"), &Record::default());
    assert_eq!(phase_of(&record), Phase::Upgraded);
}

#[test]
fn ref_to_the_running_image_is_held_to_the_version_as_well() {
    let fetched = |version| {
        let seen = with_version(raw("ostree:careen:os"), version);
        let (record, act) = next(&seen, &Record::default());
        let Act::Begin(fetch) = act else {
            panic!("{act:?}")
        };
        let commit = digest('a');
        let fetched = Outcome::Done(Effect::Fetched { commit });
        next(
            &seen.with(|seen| seen.turn.finished = finished(fetch, fetched)),
            &record,
        )
    };
    assert_eq!(phase_of(&fetched("v1.35.4").0), Phase::Upgraded);
    let phase = phase_of(&fetched("v1.36.3").0);
    let Phase::Reverting { reason } = phase else {
        panic!("{phase:?}");
    };
    assert!(matches!(reason, Reason::VersionMismatch { .. }));
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
        reason: Reason::NoApiFromNewSystem {
            seen: String::new(),
        },
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
fn remembered_bad_image_is_refused_until_a_new_id_asks_for_it() {
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
fn ref_resolving_to_a_bad_image_is_refused_after_the_fetch() {
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
fn withdrawal_cancels_fetch_drain_and_snapshot_but_not_deploy() {
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
fn withdrawal_releases_the_node_and_undoes_the_deployment() {
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
            reason: Reason::Withdrawn { replaced_by: None }
        }
    );
}

#[test]
fn withdrawal_before_resolution_ends_a_fetch_that_may_still_run() {
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
    let reason = Reason::Withdrawn { replaced_by: None };
    assert_eq!(phase_of(&next(&ended, &record).0), Phase::Failed { reason });
}

#[test]
fn pending_request_is_taken_after_an_upgrade_without_an_event() {
    let other = quiet().with(|seen| seen.node.request = Asked::This(pinned('c')));
    let mut record = upgrade_in(Phase::Reverting {
        reason: Reason::Withdrawn { replaced_by: None },
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
fn replaced_request_is_taken_again_when_set_with_its_own_id() {
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
            reason: Reason::Withdrawn {
                replaced_by: pinned('c').image
            }
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
fn restarted_agent_waits_for_the_api_server_before_a_drain() {
    let unheard = asked().with(|seen| {
        seen.node.request = Asked::Unknown;
        seen.node.api = Api::Away;
        seen.turn.started = SinceBoot(90_000);
        seen.turn.now = SinceBoot(100_000);
    });
    let (_, act) = next(&unheard, &upgrade_in(Phase::Deployed));
    assert_eq!(act, Act::Wait(Some(SinceBoot(180_000))));
}

#[test]
fn replaced_request_is_not_said_to_be_removed() {
    let sentence = |asked: Asked| {
        let seen = quiet().with(|seen| seen.node.request = asked);
        match phase_of(&next(&seen, &upgrade_in(Phase::Accepted)).0) {
            Phase::Reverting { reason } => {
                assert_eq!(reason.code(), "Withdrawn", "older agents read it");
                reason.to_string()
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(sentence(Asked::Nothing).starts_with("withdrawn: the request was removed"));
    let replaced = sentence(Asked::This(pinned('c')));
    assert!(replaced.starts_with("replaced: another request, for ostree:"));
    assert!(!replaced.contains("removed"), "{replaced}");
    let same = upgrade_in(Phase::Accepted).upgrade.unwrap().request;
    let again = RawRequest {
        id: Some("again".into()),
        ..same
    };
    assert!(sentence(Asked::This(again)).contains("the same image with the id \"again\""));
}

#[test]
fn withdrawal_is_written_as_before_and_read_with_its_successor() {
    let old = r#"{"code":"Withdrawn"}"#;
    let reason: Reason = serde_json::from_str(old).unwrap();
    assert_eq!(serde_json::to_string(&reason).unwrap(), old);
    /// A reason as an agent reads it that knows no successor.
    #[derive(serde::Deserialize)]
    #[serde(tag = "code")]
    enum Former {
        Withdrawn,
    }
    let new = Reason::Withdrawn {
        replaced_by: Some("kept:".into()),
    };
    let text = serde_json::to_string(&new).unwrap();
    let Former::Withdrawn = serde_json::from_str(&text).unwrap();
}

/// A request that no agent accepts, with this much text.
fn bad(letter: char, length: usize) -> RawRequest {
    raw(&letter.to_string().repeat(length))
}

#[test]
fn refusals_come_at_most_once_a_second() {
    let asks = |request: RawRequest| quiet().with(|seen| seen.node.request = Asked::This(request));
    let (first, act) = next(&asks(bad('x', 1)), &Record::default());
    assert_eq!(
        (first.answered, act),
        (1, Act::Wait(None)),
        "the first at once"
    );
    let soon = asks(bad('y', 1)).with(|seen| seen.turn.refused = Some(SinceBoot(99_500)));
    let (waits, act) = next(&soon, &first);
    assert_eq!(waits, first, "nothing is written");
    assert_eq!(act, Act::Wait(Some(SinceBoot(100_500))));
    let later = soon.with(|seen| seen.turn.now = SinceBoot(100_500));
    let (second, act) = next(&later, &first);
    assert_eq!((second.answered, act), (2, Act::Wait(None)));
    assert_eq!(second.spent, Some(bad('y', 1)), "the latest");
}

#[test]
fn request_right_after_a_refused_one_is_taken_at_once() {
    let seen = asked().with(|seen| seen.turn.refused = Some(seen.turn.now));
    let (record, _) = next(&bad_is_refused(), &Record::default());
    assert_eq!(begun(&next(&seen, &record).1), Some("Fetch"));
}

fn bad_is_refused() -> Observation {
    quiet().with(|seen| seen.node.request = Asked::This(bad('x', 1)))
}

#[test]
fn long_request_is_kept_by_its_digest_and_answered_once() {
    let asks = |request: RawRequest| quiet().with(|seen| seen.node.request = Asked::This(request));
    let seen = asks(bad('x', 200_000));
    let (record, _) = next(&seen, &Record::default());
    let size = serde_json::to_string(&record).unwrap().len();
    assert!(size < 4096, "{size} bytes");
    assert_eq!(next(&seen, &record).0, record, "answered");
    let other = next(&asks(bad('y', 200_000)), &record).0;
    assert_eq!(other.answered, 2, "of the same length, and another one");
    // A request of any length, as an earlier agent noted it.
    let before = Record {
        spent: Some(bad('x', 200_000)),
        ..Record::default()
    };
    assert_eq!(next(&seen, &before).0, before);
}

#[test]
fn short_request_is_kept_as_it_is() {
    let request = bad('x', 4000);
    assert_eq!(request.noted(), request);
    assert_eq!(request.noted().noted(), request);
    let noted = bad('x', 5000).noted();
    assert!(noted.request.starts_with("sha256:"), "{noted:?}");
    assert_eq!(noted.noted(), noted);
}
