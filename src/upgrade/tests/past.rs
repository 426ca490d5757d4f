//! What a node remembers of its upgrades.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::bill::{Seconds, Stopwatch};
use upgrade::history::{self, BYTES, LENGTH, Past};
use upgrade::record::Reached;
use upgrade::report::Answer;
use upgrade::*;

/// An upgrade that has come to its end in this turn, begun a hundred seconds ago.
fn ended(phase: Phase) -> Record {
    let mut record = upgrade_in(phase);
    let up = record.upgrade.as_mut().unwrap();
    up.reached = vec![Reached {
        phase: "Accepted".into(),
        at: WALL - 100,
        waited: 0,
    }];
    next(&asked(), &record).0
}

fn past(id: &str, reason: &str) -> Past {
    Past {
        id: id.parse().ok(),
        answer: Answer::Failed,
        image: format!("ostree:images:{}stable@{}", "edge/".repeat(20), digest('b')),
        from: "v1.35.4".parse().ok(),
        to: "v1.36.3".parse().ok(),
        began: WALL,
        ended: WALL + 100,
        seconds: Some(Seconds {
            working: 60,
            waiting: 40,
            ..Seconds::default()
        }),
        tries: 1,
        code: Some("Unhealthy".into()),
        reason: Some(reason.into()),
    }
}

#[test]
fn a_good_end_is_remembered_with_its_times_and_versions_once() {
    let record = ended(Phase::Upgraded);
    let [past] = &record.past[..] else {
        unreachable!("{:?}", record.past)
    };
    assert_eq!((past.answer, past.tries), (Answer::Upgraded, 1));
    assert_eq!((past.began, past.ended), (WALL - 100, WALL));
    assert_eq!((&past.code, &past.reason), (&None, &None));
    assert_eq!(past.to, "v1.36.3".parse().ok());
    assert_eq!(past.worked(), Some(100));
    assert_eq!(next(&asked(), &record).0.past, record.past);
}

/// The scene's good end, begun a day before, of which so many seconds were waited.
fn after_a_day(waited: u64) -> Past {
    let mut record = upgrade_in(Phase::Upgraded);
    let up = record.upgrade.as_mut().unwrap();
    up.reached = vec![Reached {
        phase: "Accepted".into(),
        at: WALL - 86_400,
        waited,
    }];
    let watch = |seconds| Stopwatch {
        seconds,
        since: None,
    };
    (up.bill.waiting, up.bill.cordoned) = (watch(waited), watch(200));
    (up.bill.drained, up.bill.not_ready) = (watch(150), watch(90));
    next(&asked(), &record).0.past[0].clone()
}

#[test]
fn past_upgrade_that_waited_for_its_window_counts_working_time() {
    let past = after_a_day(86_400 - 300);
    let seconds = Seconds {
        working: 300,
        waiting: 86_100,
        cordoned: 200,
        drained: 150,
        not_ready: 90,
    };
    assert_eq!(past.seconds, Some(seconds));
    assert_eq!(past.worked(), Some(300));
    assert_eq!(past.ended - past.began, 86_400, "the whole time stands too");
}

#[test]
fn a_day_that_nobody_waited_teaches_nothing() {
    assert_eq!(after_a_day(0).worked(), None);
}

/// An upgrade of the past as agents and clients know it that do not tell waiting from work.
#[derive(serde::Deserialize)]
struct Former {
    began: u64,
    ended: u64,
    tries: u32,
}

#[test]
fn those_who_do_not_know_the_split_read_the_same_whole_times() {
    let text = history::json(&[past("u1", "x")]);
    let read: Vec<Former> = serde_json::from_str(&text).unwrap();
    assert_eq!((read[0].began, read[0].ended), (WALL, WALL + 100));
    assert_eq!(read[0].tries, 1);
}

#[test]
fn past_without_split_seconds_counts_its_whole_time() {
    let text = r#"[{"answer":"Upgraded","image":"kept:","began":1000,"ended":1370,"tries":1}]"#;
    let read: Vec<Past> = serde_json::from_str(text).unwrap();
    assert_eq!((read[0].seconds, read[0].worked()), (None, Some(370)));
    assert_eq!(history::json(&read), text, "and is told as it was");
}

#[test]
fn a_bad_end_is_remembered_with_its_reason() {
    let record = ended(Phase::Failed {
        reason: Reason::NoApiFromNewSystem {
            seen: String::new(),
        },
    });
    let past = &record.past[0];
    assert_eq!(past.answer, Answer::Failed);
    assert_eq!(past.code.as_deref(), Some("NoApiFromNewSystem"));
    assert_eq!(past.worked(), None, "it says nothing of how long one takes");
}

#[test]
fn a_refusal_is_remembered_too() {
    let seen = quiet().with(|seen| {
        seen.node.request = Asked::This(raw("docker://elsewhere"));
    });
    let (record, _) = next(&seen, &Record::default());
    assert_eq!(record.past[0].code.as_deref(), Some("BadRequest"));
    assert_eq!(record.past[0].image, "docker://elsewhere");
}

#[test]
fn the_eleventh_drives_the_first_out() {
    let mut record = Record::default();
    for number in 0..=LENGTH {
        let request = RawRequest {
            id: Some(format!("u{number}")),
            ..raw("nonsense")
        };
        let seen = quiet().with(|seen| seen.node.request = Asked::This(request));
        record = next(&seen, &record).0;
    }
    let ids: Vec<_> = record.past.iter().map(|past| past.id.clone()).collect();
    assert_eq!(ids.len(), LENGTH);
    assert_eq!(ids.first(), Some(&"u10".parse().ok()), "the latest first");
    assert_eq!(ids.last(), Some(&"u1".parse().ok()));
}

#[test]
fn what_is_told_is_as_long_as_allowed_and_leaves_the_oldest_out() {
    let all: Vec<_> = (0..LENGTH)
        .map(|number| past(&format!("u{number}"), &"long ".repeat(32)))
        .collect();
    let text = history::json(&all);
    assert!(text.len() <= BYTES, "{}", text.len());
    let read: Vec<Past> = serde_json::from_str(&text).unwrap();
    assert!(read.len() >= 5, "{} of {LENGTH}", read.len());
    assert_eq!(read, all[..read.len()]);
    let one_more = serde_json::to_string(&all[..=read.len()]).unwrap();
    assert!(one_more.len() > BYTES, "no more than needed");
}

#[test]
fn nothing_to_tell_is_an_empty_list() {
    assert_eq!(history::json(&[]), "[]");
}

#[test]
fn requests_without_end_leave_a_short_record() {
    let seen = quiet().with(|seen| seen.node.request = Asked::This(raw(&"x".repeat(100_000))));
    let (record, _) = next(&seen, &Record::default());
    assert!(serde_json::to_string(&record.past).unwrap().len() < 1500);
}

#[test]
fn the_usual_time_is_the_median() {
    assert_eq!(history::usual(vec![]), None);
    assert_eq!(history::usual(vec![900, 100, 300]), Some(300));
}

#[test]
fn an_older_record_remembers_nothing_and_is_read() {
    let mut old = serde_json::to_value(ended(Phase::Upgraded)).unwrap();
    old.as_object_mut().unwrap().remove("past");
    let read: Record = serde_json::from_value(old).unwrap();
    assert!(read.past.is_empty());
}

/// A past upgrade that succeeded in so many seconds.
fn good(seconds: u64) -> Past {
    Past {
        answer: Answer::Upgraded,
        code: None,
        reason: None,
        seconds: Some(Seconds {
            working: seconds,
            cordoned: seconds,
            ..Seconds::default()
        }),
        ..past("good", "")
    }
}

/// A record in which ten upgrades succeeded.
fn with_ten_good() -> Record {
    Record {
        past: (0..10).map(|at| good(100 + at)).collect(),
        ..Record::default()
    }
}

fn good_ones(record: &Record) -> usize {
    let past = record.past.iter();
    past.filter(|past| past.kept().is_some()).count()
}

#[test]
fn refused_requests_leave_the_good_upgrades_in_the_history() {
    let mut record = with_ten_good();
    for number in 0..30 {
        let request = RawRequest {
            id: Some(format!("u{number}")),
            ..raw("nonsense")
        };
        let seen = quiet().with(|seen| seen.node.request = Asked::This(request));
        record = next(&seen, &record).0;
        let latest = record.past.first().and_then(|past| past.id.clone());
        assert_eq!(latest, format!("u{number}").parse().ok());
    }
    assert_eq!((record.past.len(), good_ones(&record)), (LENGTH, 9));
}

#[test]
fn withdrawn_requests_leave_the_good_upgrades_in_the_history() {
    for replaced_by in [None, Some("ostree:x:y".to_owned())] {
        let mut record = with_ten_good();
        for _ in 0..30 {
            let reason = Reason::Withdrawn {
                replaced_by: replaced_by.clone(),
            };
            let mut ended = upgrade_in(Phase::Failed { reason });
            ended.past = record.past;
            ended.upgrade.as_mut().unwrap().attempt.tries = 0;
            record = next(&quiet(), &ended).0;
            assert_eq!(record.past[0].code.as_deref(), Some("Withdrawn"));
        }
        assert_eq!((record.past.len(), good_ones(&record)), (LENGTH, 9));
    }
}

#[test]
fn failures_of_upgrades_that_did_something_stay_in_their_order() {
    let mut record = with_ten_good();
    for _ in 0..3 {
        let mut ended = upgrade_in(Phase::Failed {
            reason: Reason::NoApiFromNewSystem {
                seen: String::new(),
            },
        });
        ended.past = record.past;
        record = next(&quiet(), &ended).0;
    }
    assert_eq!((record.past.len(), good_ones(&record)), (LENGTH, 7));
}

#[test]
fn history_of_a_request_without_facts_has_the_requested_version() {
    let request = RawRequest {
        kubernetes: Some("v1.36.3".into()),
        ..raw("nonsense")
    };
    let seen = quiet().with(|seen| seen.node.request = Asked::This(request));
    let record = next(&seen, &Record::default()).0;
    assert_eq!(record.past[0].to, "v1.36.3".parse().ok());
}
