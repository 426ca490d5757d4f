//! What the Node is told when there is no record to tell it from, or too much of it.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::reason::{LONGEST, cut};
use upgrade::report::hindered::{unseen, unwritten};
use upgrade::report::{Answer, Cause};
use upgrade::*;

fn disk_full() -> Reason {
    Reason::RecordUnwritten {
        detail: "No space left on device".into(),
    }
}

#[test]
fn unwritable_record_is_reported_as_what_the_upgrade_waits_for() {
    for phase in phases().into_iter().filter(|phase| !phase.is_end()) {
        let read = Ok(upgrade_in(phase.clone()));
        let told = unwritten(&read, &asked(), None, &disk_full());
        assert_eq!(told.answer, Some(Answer::InProgress));
        assert_eq!(told.now(), Some(&disk_full()), "{phase:?}");
        assert_eq!(told.status.code.as_deref(), Some("RecordUnwritten"));
        assert_eq!(told.status.phase, phase.name());
    }
}

#[test]
fn revert_reports_its_hindrance_and_its_original_cause() {
    let reason = Reason::NothingKept;
    let record = upgrade_in(Phase::Reverting {
        reason: reason.clone(),
    });
    let free = report(&Ok(record.clone()), &asked(), None).unwrap();
    assert_eq!(free.reason.as_ref(), Some(&reason));
    assert_eq!(free.status.code, Some(reason.code()));
    assert_eq!(free.status.reverts_for, None, "nothing is said twice");
    let refused = Reason::DrainRefused {
        detail: "a webhook".into(),
    };
    let seen = asked().with(|seen| {
        seen.turn.finished = finished(Step::Release, Outcome::Failed(refused.clone()))
    });
    let (record, _) = next(&seen, &record);
    let held = report(&Ok(record.clone()), &asked(), None).unwrap();
    assert_eq!(held.reason.as_ref(), Some(&refused));
    assert_eq!(held.status.code.as_deref(), Some("DrainRefused"));
    assert_eq!(held.status.reverts_for, Some(Cause::from(&reason)));
    let unwritten = unwritten(&Ok(record), &asked(), None, &disk_full());
    assert_eq!(unwritten.status.code.as_deref(), Some("RecordUnwritten"));
    assert_eq!(unwritten.status.reverts_for, Some(Cause::from(&reason)));
}

#[test]
fn given_up_trial_does_not_report_a_pending_kubeadm_retry() {
    let mut record = upgrade_in(Phase::Reverting {
        reason: Reason::NothingKept,
    });
    record.upgrade.as_mut().unwrap().retry = Some(record::Retry {
        step: StepKind::Kubeadm.into(),
        tries: 1,
        due: Moment {
            boot: boot(2),
            at: SinceBoot(0),
        },
        reason: Reason::KubeadmFailed { detail: "x".into() },
    });
    let told = report(&Ok(record), &asked(), None).unwrap();
    assert_eq!(told.reason, Some(Reason::NothingKept));
}

#[test]
fn earlier_answer_stays_while_the_record_cannot_be_written() {
    let told = unwritten(
        &Ok(upgrade_in(Phase::Upgraded)),
        &on_trial(),
        None,
        &disk_full(),
    );
    assert_eq!(told.answer, Some(Answer::Upgraded));
    assert_eq!(
        (told.reason.as_ref(), told.now()),
        (None, Some(&disk_full()))
    );
}

#[test]
fn first_request_is_told_that_the_record_cannot_be_written() {
    let told = unwritten(&Ok(Record::default()), &asked(), None, &disk_full());
    assert_eq!((told.answer, told.now()), (None, Some(&disk_full())));
}

fn unread() -> Reason {
    Reason::MachineUnseen {
        detail: "Input/output error".into(),
    }
}

#[test]
fn unseen_machine_is_reported_as_what_the_upgrade_waits_for() {
    for phase in phases().into_iter().filter(|phase| !phase.is_end()) {
        let read = Ok(upgrade_in(phase.clone()));
        let told = unseen(&read, (&asked()).into(), None, &unread()).unwrap();
        assert_eq!(told.answer, Some(Answer::InProgress));
        assert_eq!(told.status.code.as_deref(), Some("MachineUnseen"));
        assert_eq!(told.status.phase, phase.name());
    }
}

#[test]
fn unseen_machine_is_reported_to_a_first_request_only() {
    let none = Ok(Record::default());
    let told = |seen: &Observation| unseen(&none, seen.into(), None, &unread());
    let first = told(&asked()).unwrap();
    assert_eq!((first.answer, first.now()), (None, Some(&unread())));
    assert_eq!(told(&quiet()), None);
}

/// What the Node says of an upgrade to an image without a guard.
fn without_a_guard(phase: Phase) -> bool {
    let mut record = upgrade_in(phase);
    let up = record.upgrade.as_mut().unwrap();
    if let Some(facts) = &mut up.facts {
        facts.info.as_mut().unwrap().stage = None;
    }
    let told = report(&Ok(record), &on_trial(), None).unwrap();
    told.status.unguarded
}

#[test]
fn unguarded_image_is_reported_from_verification_to_the_end() {
    for phase in phases() {
        let is_known = !matches!(phase, Phase::Accepted | Phase::Fetched);
        assert_eq!(without_a_guard(phase.clone()), is_known, "{phase:?}");
        let guarded = report(&Ok(upgrade_in(phase)), &on_trial(), None).unwrap();
        assert!(!guarded.status.unguarded);
    }
}

#[test]
fn refused_unguarded_image_is_not_reported_as_permitted() {
    let reason = Reason::NoStage {
        commit: "bbbb".into(),
        found: None,
    };
    let mut record = upgrade_in(Phase::Failed { reason });
    let up = record.upgrade.as_mut().unwrap();
    up.to = None;
    up.facts.as_mut().unwrap().info.as_mut().unwrap().stage = None;
    let told = report(&Ok(record), &on_trial(), None).unwrap();
    assert!(!told.status.unguarded);
}

#[test]
fn long_reason_is_truncated_to_fit_the_node_and_says_so() {
    // Letters of two bytes and one in front of them: no cut of an even number of bytes falls
    // between two of them.
    for head in ["", "x"] {
        let reason = Reason::DrainDeadline {
            pods: format!("{head}{}", "ä".repeat(200_000)),
            seconds: 1,
        };
        let phase = Phase::Failed {
            reason: reason.clone(),
        };
        let report = report(&Ok(upgrade_in(phase)), &quiet(), None).unwrap();
        let told = reason.told();
        assert_eq!(report.status.reason.as_deref(), Some(told.as_str()));
        assert!(
            told.len() <= LONGEST && told.ends_with("has all of it)"),
            "{}",
            told.len()
        );
    }
}

#[test]
fn a_sentence_that_fits_is_told_as_it_is() {
    let fits = "ä".repeat(LONGEST / 2);
    assert_eq!(cut(&fits), fits);
}
