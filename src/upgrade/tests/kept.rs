//! Going back to what the last upgrade has kept: an upgrade of its own, without a fetch.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

fn pinned_one(letter: char) -> Deployment {
    Deployment {
        pinned: true,
        kept: true,
        ..deployment(letter)
    }
}

/// The system `a` runs, `b` is pinned after it, and is asked for.
fn asked_for_kept() -> Observation {
    quiet().with(|seen| {
        seen.node.request = Asked::This(raw("kept:"));
        seen.machine.deployments = vec![held('a'), pinned_one('b')];
    })
}

fn refused(seen: &Observation) -> Reason {
    let (record, act) = next(seen, &Record::default());
    assert_eq!(act, Act::Wait(None));
    record.refused.unwrap().reason
}

#[test]
fn kept_request_pins_the_commit_and_verifies_without_a_fetch() {
    let (record, act) = next(&asked_for_kept(), &Record::default());
    let commit = digest('b');
    assert_eq!(act, Act::Begin(Step::Verify { commit }));
    let up = record.upgrade.unwrap();
    assert_eq!(up.commit(), Some(&digest('b')));
    assert!(up.kept);
}

#[test]
fn it_is_deployed_drained_and_tried_like_any_other() {
    let (mut record, mut act) = next(&asked_for_kept(), &Record::default());
    let mut seen = asked_for_kept();
    let (mut begun, fresh) = (
        Vec::new(),
        Deployment {
            serial: 1,
            ..deployment('b')
        },
    );
    while let Act::Begin(step) = act {
        begun.push(step.name());
        let effect = match &step {
            Step::Verify { .. } => Effect::Verified(facts('b')),
            Step::Rehearse => Effect::Rehearsed { blocked: None },
            Step::Deploy { .. } => {
                seen.machine.deployments.push(fresh.clone());
                Effect::Deployed(fresh.clone())
            }
            Step::Arm { deployment } => {
                assert_eq!(*deployment, fresh, "a new deployment, with /etc of today");
                break;
            }
            _ => Effect::Plain,
        };
        let ended = seen
            .clone()
            .with(|seen| seen.turn.finished = finished(step, Outcome::Done(effect)));
        (record, act) = next(&ended, &record);
    }
    let steps = ["Verify", "Rehearse", "Deploy", "Drain", "Snapshot", "Arm"];
    assert_eq!(begun, steps);
}

#[test]
fn nothing_kept_is_told_so() {
    for deployments in [
        vec![held('a')],
        vec![held('a'), deployment('b')],
        vec![pinned_one('a')],
        // By an administrator.
        vec![
            deployment('a'),
            Deployment {
                kept: false,
                ..pinned_one('b')
            },
        ],
        vec![
            deployment('a'),
            Deployment {
                stateroot: "another".into(),
                ..pinned_one('b')
            },
        ],
    ] {
        let seen = asked_for_kept().with(|seen| seen.machine.deployments = deployments);
        assert_eq!(refused(&seen), Reason::NothingKept);
    }
}

#[test]
fn kept_selects_the_pinned_deployment_after_the_running_one() {
    let seen = asked_for_kept()
        .with(|seen| seen.machine.deployments = vec![held('a'), pinned_one('c'), pinned_one('b')]);
    let (record, _) = next(&seen, &Record::default());
    assert_eq!(record.upgrade.unwrap().commit(), Some(&digest('c')));
}

#[test]
fn what_an_administrator_has_pinned_before_it_is_passed_over() {
    let theirs = Deployment {
        kept: false,
        ..pinned_one('c')
    };
    let seen = asked_for_kept()
        .with(|seen| seen.machine.deployments = vec![held('a'), theirs, pinned_one('b')]);
    let (record, _) = next(&seen, &Record::default());
    assert_eq!(record.upgrade.unwrap().commit(), Some(&digest('b')));
}

#[test]
fn a_policy_without_rollback_refuses_it_and_no_image() {
    let policy = Policy {
        rollback: false,
        ..at_once()
    };
    let (record, _) = next_with(&asked_for_kept(), &Record::default(), &Ok(policy.clone()));
    assert_eq!(record.refused.unwrap().reason, Reason::RollbackOff);
    let image = asked_for_kept().with(|seen| seen.node.request = Asked::This(pinned('b')));
    let (record, _) = next_with(&image, &Record::default(), &Ok(policy));
    assert!(record.refused.is_none() && record.upgrade.is_some());
}

#[test]
fn an_older_version_is_what_is_asked_for() {
    let mut older = facts('b');
    older.info.as_mut().unwrap().kubernetes = "v1.34.9".parse().unwrap();
    let (record, act) = next(&asked_for_kept(), &Record::default());
    let Act::Begin(verify) = act else { panic!() };
    let seen = asked_for_kept()
        .with(|seen| seen.turn.finished = finished(verify, Outcome::Done(Effect::Verified(older))));
    assert_eq!(phase_of(&next(&seen, &record).0), Phase::Verified);
}

#[test]
fn damage_is_not_fetched_again_from_nowhere() {
    let (record, act) = next(&asked_for_kept(), &Record::default());
    let Act::Begin(verify) = act else { panic!() };
    let damaged = Reason::Damaged {
        commit: digest('b').to_string(),
        detail: "bits rot".into(),
    };
    let seen = asked_for_kept()
        .with(|seen| seen.turn.finished = finished(verify, Outcome::Failed(damaged.clone())));
    let reverting = Phase::Reverting { reason: damaged };
    assert_eq!(phase_of(&next(&seen, &record).0), reverting);
}

#[test]
fn the_policy_of_remotes_does_not_speak_of_what_is_here() {
    let policy = Policy {
        remotes: vec!["ours".into()],
        ..at_once()
    };
    let (record, _) = next_with(&asked_for_kept(), &Record::default(), &Ok(policy));
    assert!(record.refused.is_none() && record.upgrade.is_some());
}

#[test]
fn an_older_version_reads_the_record_of_its_own_trial() {
    let (record, _) = next(&asked_for_kept(), &Record::default());
    let text = serde_json::to_value(&record.upgrade.unwrap().target).unwrap();
    let old_form = text.as_str().unwrap();
    assert!(old_form.parse::<Target>().is_ok(), "{old_form}");
}

#[test]
fn the_word_alone_is_accepted_and_nothing_like_it() {
    assert_eq!("kept:".parse(), Ok(Wanted::Kept));
    for text in ["kept", "kept:b", "Kept:", " kept:"] {
        let bad = text.parse::<Wanted>().unwrap_err().to_string();
        assert!(bad.contains("or kept:"), "{bad}");
    }
}
