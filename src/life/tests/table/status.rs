//! What a host says of itself.

use life::{Act, Checks, Claimed, Observation, Phase, Reason, Record, Stage, decide, status};

use crate::scene::{at, bootstrapping, claim, claimed, id, of, released, seen, stages};

#[test]
fn without_a_readable_record_nothing_is_done() {
    let why = Reason::RecordUnread {
        detail: "torn".to_owned(),
    };
    let decision = decide(&Err(why.clone()), &claimed(released('a')));
    assert_eq!((decision.record, decision.act), (None, Act::Wait));
    let said = status(&Err(why), &seen());
    assert_eq!((said.phase, said.observed_claim), (Phase::Failed, None));
    assert!(!said.phase.is_fenced());
}

#[test]
fn the_status_names_the_reason() {
    let said = |record: Record, seen: &Observation| {
        let said = status(&Ok(record), seen);
        (said.phase, said.reason)
    };
    let mut ended = Record::default();
    ended.end(id('a'));
    let unread = Observation {
        claimed: Claimed::Unknown("401".into()),
        ..seen()
    };
    for (record, seen, expected) in [
        (Record::default(), seen(), (Phase::Available, "")),
        (
            ended.clone(),
            claimed(released('a')),
            (Phase::Available, ""),
        ),
        (ended, claimed(claim('a')), (Phase::Failed, "ClaimSpent")),
        (
            at(Stage::Imaging),
            claimed(claim('a')),
            (Phase::Imaging, ""),
        ),
        (
            at(Stage::Ready),
            claimed(claim('a')),
            (Phase::Joining, "AwaitsData"),
        ),
        (
            at(bootstrapping()),
            claimed(claim('a')),
            (Phase::Joining, ""),
        ),
        (at(Stage::Joined), claimed(claim('a')), (Phase::Joined, "")),
        (at(Stage::Joined), seen(), (Phase::Joined, "ClaimGone")),
        (
            at(Stage::Joined),
            claimed(claim('b')),
            (Phase::Joined, "ClaimForeign"),
        ),
        (at(Stage::Joined), unread, (Phase::Joined, "ClaimUnread")),
        (
            at(Stage::Fencing),
            claimed(released('a')),
            (Phase::Fencing, ""),
        ),
        (
            at(Stage::Fenced),
            claimed(released('a')),
            (Phase::Cleaning, ""),
        ),
    ] {
        assert_eq!(said(record.clone(), &seen), expected, "{record:?}");
    }
}

#[test]
fn a_host_is_clean_only_if_no_claim_has_used_it() {
    for stage in stages() {
        let unused = matches!(stage, Stage::Imaging | Stage::Ready);
        let said = status(&Ok(at(stage)), &claimed(claim('a')));
        assert_eq!(
            said.conditions[0].status == "True",
            unused,
            "{:?}",
            said.phase
        );
    }
}

/// The CRD of CareenHost allows 4096 characters (provider/src/kinds/host.rs).
#[test]
fn no_message_is_longer_than_the_crd_allows() {
    let lines = "ä".repeat(4096);
    let failed = |detail: &str| {
        let why = Reason::JoinFailed {
            detail: detail.to_owned(),
        };
        let mut stay = at(bootstrapping()).stay.unwrap();
        stay.failed = Some(why);
        status(&Ok(of(stay)), &claimed(claim('a')))
    };
    let said = failed(&lines);
    assert_eq!(said.message.chars().count(), 4096);
    assert!(said.message.starts_with("…ä"), "{}", &said.message[..8]);
    let action = "ä. Correct the cause and replace the Machine.";
    assert!(said.message.ends_with(action), "the end says what to do");
    let around = "the join failed: . Correct the cause and replace the Machine.".len();
    let whole = failed(&"ä".repeat(4096 - around)).message;
    assert_eq!(whole.chars().count(), 4096);
    assert!(whole.starts_with("the join failed: "), "it fits");

    let found: Vec<String> = (0..200)
        .map(|at| format!("/var/lib/left/{at:040}"))
        .collect();
    let checks = Checks::Red(found);
    let red = Observation { checks, ..seen() };
    let said = status(&Ok(Record::default()), &red);
    let conditions = said.conditions.iter().map(|one| &one.message);
    for message in conditions.chain([&said.message]) {
        assert!(message.chars().count() <= 4096, "{}", message.len());
    }
    assert!(said.conditions[0].message.ends_with("199"));
}
