//! What a trial falls back to: pinned from the deployment on, and the default until Careen itself
//! makes another that.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

/// The old system, with its pin taken off.
fn unpinned() -> Observation {
    asked().with(|seen| seen.machine.deployments = vec![deployment('a'), deployment('b')])
}

fn pinned_again() -> Observation {
    asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments)
}

/// The system on trial, which somebody has made the default.
fn moved() -> Observation {
    on_trial().with(|seen| seen.machine.deployments = vec![deployment('b'), held('a')])
}

fn bad() -> Observation {
    moved().with(|seen| {
        seen.turn.health = Health {
            required: vec![("10-app".into(), Check::Broken("exit code 1".into()))],
            ..healthy()
        }
    })
}

fn trial() -> Record {
    upgrade_in(Phase::Trial { boot: boot(2) })
}

fn reinstating() -> Act {
    Act::Begin(Step::Reinstate {
        deployment: deployment('a'),
        over: deployment('b'),
    })
}

fn ended(seen: Observation, act: &Act, outcome: Outcome) -> Observation {
    let Act::Begin(step) = act else {
        panic!("{act:?}")
    };
    seen.with(|seen| seen.turn.finished = finished(step.clone(), outcome))
}

fn done() -> Outcome {
    Outcome::Done(Effect::Plain)
}

fn died() -> Outcome {
    Outcome::Failed(Reason::DeployDied {
        verb: "reinstate".into(),
        detail: "it hung".into(),
    })
}

#[test]
fn an_old_system_without_its_pin_gets_it_back_before_the_arming() {
    let (record, act) = next(&unpinned(), &upgrade_in(Phase::Drained));
    assert_eq!(begun(&act), Some("Deploy"));
    let outcome = Outcome::Done(Effect::Deployed(deployment('b')));
    let (record, act) = next(&ended(pinned_again(), &act, outcome), &record);
    assert_eq!(begun(&act), Some("Snapshot"));
    let (_, act) = next(&ended(pinned_again(), &act, done()), &record);
    assert_eq!(begun(&act), Some("Arm"));
}

#[test]
fn a_pin_that_is_taken_off_once_armed_takes_the_arming_back() {
    let armed = upgrade_in(Phase::Armed { boot: boot(1) });
    let seen = unpinned().with(|seen| seen.machine.one_shot = OneShot::Set);
    let (record, act) = next(&seen, &armed);
    assert_eq!(act, Act::Begin(Step::Disarm));
    let up = record.upgrade.clone().unwrap();
    assert_eq!((up.phase, up.attempt.tries), (Phase::Drained, 0));
    let (_, act) = next(&ended(unpinned(), &act, done()), &record);
    assert_eq!(begun(&act), Some("Deploy"));
}

#[test]
fn an_upgrade_ends_where_the_pin_is_taken_off_again_and_again() {
    let mut record = upgrade_in(Phase::Drained);
    let mut seen = unpinned();
    for _ in 0..at_once().tries {
        let act;
        (record, act) = next(&seen, &record);
        assert_eq!(begun(&act), Some("Deploy"));
        let outcome = Outcome::Done(Effect::Deployed(deployment('b')));
        seen = ended(unpinned(), &act, outcome);
    }
    let (record, _) = next(&seen, &record);
    let Phase::Reverting { reason } = phase_of(&record) else {
        panic!("{:?}", phase_of(&record))
    };
    assert_eq!(reason.code(), "DeployFailed");
    let text = reason.to_string();
    assert!(text.contains("ostree admin pin --unpin"), "{text}");
}

#[test]
fn bad_trial_set_as_the_default_reinstates_the_old_system() {
    let (record, act) = next(&bad(), &trial());
    assert_eq!(act, reinstating());
    let up = record.upgrade.clone().unwrap();
    assert_eq!(
        (up.attempt.default.reinstated(), &up.intent),
        (Some(&boot(2)), &None)
    );
    let back = on_trial().with(|seen| seen.turn.health = bad().turn.health);
    let (record, act) = next(&ended(back, &act, done()), &record);
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
    let old = pinned_again().with(|seen| seen.turn.boot = boot(3));
    let (record, act) = next(&old, &record);
    assert_eq!(act, Act::Begin(Step::Release));
    let (record, act) = next(&ended(old.clone(), &act, done()), &record);
    assert_eq!(begun(&act), Some("Undo"));
    let (record, _) = next(&ended(old.clone(), &act, done()), &record);
    let Phase::Failed { reason } = phase_of(&record) else {
        panic!("{:?}", phase_of(&record))
    };
    assert_eq!(reason.code(), "UserCheck");
    assert!(reason.to_string().contains("another program"), "{reason}");
    let told = report(&Ok(record), &old, None).unwrap();
    assert!(told.status.default_moved);
}

#[test]
fn reinstatement_record_names_no_step_unknown_to_older_agents() {
    let (record, _) = next(&bad(), &trial());
    let text = serde_json::to_string(&record).unwrap();
    assert!(!text.contains("Reinstate"), "{text}");
    let quiet = serde_json::to_string(&trial()).unwrap();
    for field in ["default_moved", "reinstated", "kept"] {
        assert!(!quiet.contains(field), "{field} is absent at its default");
    }
}

#[test]
fn failed_reinstatement_reboots_once_and_then_halts() {
    let (record, act) = next(&bad(), &trial());
    let (record, act) = next(&ended(bad(), &act, died()), &record);
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }), "once");
    let again = moved().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.trial = false;
    });
    let (record, act) = next(&again, &record);
    assert_eq!(act, Act::Wait(None), "not for ever");
    let Phase::Halted { reason } = phase_of(&record) else {
        panic!("{:?}", phase_of(&record))
    };
    assert_eq!(reason.code(), "ForeignDefault");
}

#[test]
fn the_old_systems_agent_does_what_the_failed_one_could_not() {
    let (record, act) = next(&bad(), &trial());
    let (record, _) = next(&ended(bad(), &act, died()), &record);
    let old = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = vec![deployment('b'), held('a')];
    });
    let (record, act) = next(&old, &record);
    assert_eq!(act, Act::Begin(Step::Release));
    let (record, act) = next(&ended(old.clone(), &act, done()), &record);
    assert_eq!(act, reinstating());
    let (ready, undo) = next(&ended(pinned_again(), &act, done()), &record);
    assert_eq!(begun(&undo), Some("Undo"), "{:?}", phase_of(&ready));
    let (record, act) = next(&ended(old, &act, died()), &record);
    assert_eq!(act, Act::Wait(None));
    assert!(matches!(phase_of(&record), Phase::Halted { .. }));
    assert!(record.upgrade.unwrap().custody.is_given_back(), "it serves");
}

#[test]
fn default_trial_without_verdict_is_retried_from_the_old_system() {
    let (record, _) = next(&moved(), &trial());
    assert!(
        record.upgrade.as_ref().unwrap().attempt.default.is_moved(),
        "noted at once"
    );
    let old = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = vec![deployment('b'), held('a')];
    });
    let (record, act) = next(&old, &record);
    assert_eq!(act, reinstating());
    let back = pinned_again().with(|seen| seen.turn.boot = boot(3));
    let (record, _) = next(&ended(back, &act, done()), &record);
    assert_eq!(phase_of(&record), Phase::Drained);
}

#[test]
fn healthy_trial_set_as_the_default_halts() {
    let seen = moved().with(|seen| seen.turn.health = healthy());
    let (record, act) = next(&seen, &trial());
    assert_eq!(act, Act::Wait(None), "neither blessed nor left");
    let Phase::Halted { reason } = phase_of(&record) else {
        panic!("{:?}", phase_of(&record))
    };
    let text = reason.to_string();
    assert_eq!(reason.code(), "ForeignDefault");
    assert!(text.contains("something other than Careen"), "{text}");
}

#[test]
fn a_swap_that_careen_had_begun_is_its_blessing() {
    let mut begun = upgrade_in(Phase::Healthy { boot: boot(2) });
    let up = begun.upgrade.as_mut().unwrap();
    up.intent = Some(Step::Bless {
        commit: digest('b'),
        over: Some(deployment('a')),
    });
    for seen in [
        moved(),
        moved().with(|seen| {
            seen.turn.boot = boot(3);
            seen.machine.trial = false;
        }),
    ] {
        assert_eq!(phase_of(&next(&seen, &begun).0), Phase::Blessed);
    }
}

#[test]
fn a_blessing_that_finds_a_foreign_swap_is_none() {
    let seen = on_trial().with(|seen| seen.turn.health = healthy());
    let (record, act) = next(&seen, &trial());
    assert_eq!(begun(&act), Some("Bless"));
    let default = digest('b').short().to_owned();
    let theirs = Outcome::Failed(Reason::ForeignDefault { default });
    let (record, act) = next(&ended(moved(), &act, theirs), &record);
    assert_eq!(act, Act::Wait(None));
    assert!(matches!(phase_of(&record), Phase::Halted { .. }));
}

#[test]
fn what_fails_behind_careens_own_swap_takes_no_blessing_back() {
    let seen = on_trial().with(|seen| seen.turn.health = healthy());
    let (record, act) = next(&seen, &trial());
    let (record, _) = next(&ended(moved(), &act, died()), &record);
    assert_eq!(phase_of(&record), Phase::Blessed);
}

#[test]
fn what_somebody_moved_and_moved_back_is_blessed_as_ever() {
    let (record, _) = next(&moved(), &trial());
    let seen = on_trial().with(|seen| seen.turn.health = healthy());
    let (record, act) = next(&seen, &record);
    assert_eq!(begun(&act), Some("Bless"));
    let (record, _) = next(&ended(moved(), &act, done()), &record);
    assert_eq!(phase_of(&record), Phase::Blessed);
    assert!(!record.upgrade.unwrap().attempt.default.is_moved());
}
