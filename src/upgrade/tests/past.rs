//! What a node remembers of its upgrades.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
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
    assert_eq!(past.lasted(), Some(100));
    assert_eq!(next(&asked(), &record).0.past, record.past);
}

#[test]
fn a_bad_end_is_remembered_with_its_reason() {
    let record = ended(Phase::Failed {
        reason: Reason::NoApiFromNewSystem,
    });
    let past = &record.past[0];
    assert_eq!(past.answer, Answer::Failed);
    assert_eq!(past.code.as_deref(), Some("NoApiFromNewSystem"));
    assert_eq!(past.lasted(), None, "it says nothing of how long one takes");
}

#[test]
fn a_refusal_is_remembered_too() {
    let seen = Observation {
        request: Asked::This(raw("docker://elsewhere")),
        ..quiet()
    };
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
        let seen = Observation {
            request: Asked::This(request),
            ..quiet()
        };
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
    let seen = Observation {
        request: Asked::This(raw(&"x".repeat(100_000))),
        ..quiet()
    };
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
