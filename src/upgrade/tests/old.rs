//! What the old system does on the way to the trial.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

fn at(seconds: u64) -> Observation {
    asked().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(seconds))
}

fn drain_after(spent_seconds: u64) -> Act {
    Act::Begin(Step::Drain { spent_seconds })
}

#[test]
fn a_drain_keeps_its_first_deadline_when_the_agent_dies_in_it() {
    let (begun, act) = next(&at(100), &upgrade_in(Phase::Deployed));
    assert_eq!(act, drain_after(0));
    let (resumed, act) = next(&at(350), &begun);
    assert_eq!(act, drain_after(250));
    assert_eq!(next(&at(900), &resumed).1, drain_after(800));
}

#[test]
fn a_drain_that_a_reboot_came_into_has_its_whole_time_again() {
    let (begun, _) = next(&at(100), &upgrade_in(Phase::Deployed));
    let rebooted = at(350).with(|seen| seen.turn.boot = boot(2));
    let (begun, act) = next(&rebooted, &begun);
    assert_eq!(act, drain_after(0));
    let later = at(360).with(|seen| seen.turn.boot = boot(2));
    assert_eq!(next(&later, &begun).1, drain_after(10));
}

#[test]
fn a_refused_reboot_disarms_first_and_does_not_count_as_a_trial() {
    let refused = Outcome::Failed(Reason::RebootRefused {
        detail: "held by apt".into(),
    });
    let seen = asked().with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.machine.deployments = on_trial().machine.deployments;
        seen.turn.finished = finished(Step::Reboot { force: false }, refused);
    });
    let (record, act) = next(&seen, &upgrade_in(Phase::Armed { boot: boot(1) }));
    assert_eq!(begun(&act), Some("Disarm"));
    assert_eq!(record.upgrade.as_ref().unwrap().attempt.tries, 0);
}

#[test]
fn old_system_clears_a_leftover_one_shot_in_every_phase() {
    for phase in phases()
        .into_iter()
        .filter(|phase| !matches!(phase, Phase::Armed { .. }))
    {
        let seen = asked().with(|seen| {
            seen.machine.one_shot = OneShot::Set;
            seen.machine.deployments = on_trial().machine.deployments;
        });
        let (_, act) = next(&seen, &upgrade_in(phase.clone()));
        assert_eq!(begun(&act), Some("Disarm"), "{phase:?}");
    }
}

/// The entry is set, and clearing it has just failed: grubenv is on a file system that went
/// read-only.
fn disarming_failed(seconds: u64) -> Observation {
    let read_only = Reason::ArmFailed {
        detail: "read-only file system".into(),
    };
    at(seconds).with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
        seen.turn.finished = finished(Step::Disarm, Outcome::Failed(read_only));
    })
}

#[test]
fn stuck_leftover_one_shot_is_retried_with_a_delay_in_any_phase() {
    let in_old = |phase: &Phase| !matches!(phase, Phase::Armed { .. });
    for phase in phases().into_iter().filter(in_old) {
        let mut record = upgrade_in(phase.clone());
        for turn in 0..20 {
            let mut seen = disarming_failed(100 + turn * 400);
            let (paused, act) = next(&seen, &record);
            assert!(matches!(act, Act::Wait(Some(_))), "{phase:?}: {act:?}");
            seen.turn.finished = None;
            seen.turn.now = seen.turn.now.plus_seconds(399);
            let (after, act) = next(&seen, &paused);
            assert_eq!(begun(&act), Some("Disarm"), "{phase:?}");
            record = after;
        }
    }
    let act = next(&disarming_failed(100), &Record::default()).1;
    assert_eq!(
        act,
        Act::Wait(Some(SinceBoot(160_000))),
        "nothing is under way"
    );
}

/// Clears it in vain, again and again, until the upgrade is over.
fn fails_to_disarm(record: Record, seen: impl Fn(u64) -> Observation) -> Record {
    let mut record = record;
    for failures in 0..20 {
        if !phase_of(&record).is_end() {
            record = next(&seen(100 + failures * 400), &record).0;
        }
    }
    record
}

fn reverting(reason: &Reason) -> Record {
    upgrade_in(Phase::Reverting {
        reason: reason.clone(),
    })
}

#[test]
fn revert_with_a_stuck_one_shot_halts_and_states_both_reasons() {
    let before = Reason::NoApiFromNewSystem {
        seen: String::new(),
    };
    let record = fails_to_disarm(reverting(&before), disarming_failed);
    let Phase::Halted { reason } = phase_of(&record) else {
        panic!("{:?}", phase_of(&record));
    };
    let said = reason.to_string();
    assert!(said.contains("read-only file system"), "{said}");
    assert!(said.contains(&before.to_string()), "{said}");
    assert_eq!(record.answered, 1);
    let later = disarming_failed(100_000).with(|seen| seen.turn.finished = None);
    let (_, act) = next(&later, &record);
    assert_eq!(begun(&act), Some("Disarm"), "nothing may stay armed");
}

#[test]
fn bad_trial_with_a_stuck_one_shot_keeps_reverting() {
    let in_trial = |seconds| {
        disarming_failed(seconds).with(|seen| {
            seen.machine.booted = deployment('b');
            seen.machine.trial = true;
            seen.turn.boot = boot(2);
        })
    };
    let record = fails_to_disarm(
        reverting(&Reason::NoApiFromNewSystem {
            seen: String::new(),
        }),
        in_trial,
    );
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}

#[test]
fn a_foreign_default_halts_instead_of_arming() {
    let seen = asked().with(|seen| {
        seen.machine.deployments = vec![deployment('c'), deployment('a'), deployment('b')]
    });
    let (record, act) = next(&seen, &upgrade_in(Phase::Drained));
    assert_eq!(act, Act::Wait(None), "a person must look first");
    assert!(matches!(
        phase_of(&record),
        Phase::Halted {
            reason: Reason::ForeignDefault { .. }
        }
    ));
}

#[test]
fn deployment_staged_by_others_halts_instead_of_arming() {
    let armed = || Phase::Armed { boot: boot(1) };
    for (phase, one_shot, first) in [
        (Phase::Drained, OneShot::Clear, Act::Wait(None)),
        (armed(), OneShot::Clear, Act::Wait(None)),
        (armed(), OneShot::Set, Act::Begin(Step::Disarm)),
    ] {
        let seen = asked().with(|seen| {
            seen.machine.one_shot = one_shot;
            seen.machine.staged = true;
            seen.machine.deployments = vec![held('a'), deployment('b')];
        });
        let (record, act) = next(&seen, &upgrade_in(phase));
        assert_eq!(act, first);
        let Phase::Halted { reason } = phase_of(&record) else {
            panic!("{:?}", phase_of(&record));
        };
        let said = reason.to_string();
        assert!(said.contains(upgrade::observe::STAGED), "{said}");
    }
}

#[test]
fn default_changed_while_the_agent_was_down_halts_before_reboot() {
    for (one_shot, first) in [
        (OneShot::Clear, Act::Wait(None)),
        (OneShot::Set, Act::Begin(Step::Disarm)),
    ] {
        let seen = asked().with(|seen| {
            seen.machine.one_shot = one_shot;
            seen.machine.deployments = vec![deployment('c'), deployment('a'), deployment('b')];
        });
        let (record, act) = next(&seen, &upgrade_in(Phase::Armed { boot: boot(1) }));
        assert_eq!(act, first);
        assert!(matches!(
            phase_of(&record),
            Phase::Halted {
                reason: Reason::ForeignDefault { .. }
            }
        ));
    }
}

#[test]
fn the_worker_never_gets_ahead_of_its_api_server() {
    let older = Api::Reached {
        since: SinceBoot(0),
        version: Some("v1.35.9".parse().unwrap()),
    };
    for phase in [Phase::Verified, Phase::Drained] {
        let seen = asked().with(|seen| {
            seen.node.api = older.clone();
            seen.machine.deployments = on_trial().machine.deployments;
        });
        let (record, _) = next(&seen, &upgrade_in(phase));
        let expected = matches!(
            phase_of(&record),
            Phase::Reverting {
                reason: Reason::NewerThanApiServer { .. }
            }
        );
        assert!(expected, "{:?}", phase_of(&record));
    }
}

#[test]
fn kubelet_skew_is_checked_before_and_after_the_drain() {
    let server = |version: &str| Api::Reached {
        since: SinceBoot(0),
        version: Some(version.parse().unwrap()),
    };
    let narrow = Policy {
        skew: 1,
        ..at_once()
    };
    for phase in [Phase::Verified, Phase::Drained] {
        for (policy, fits, too_new) in [
            (at_once(), "v1.39.0", "v1.40.0"),
            (narrow.clone(), "v1.37.0", "v1.38.0"),
        ] {
            let after = |version| {
                let seen = asked().with(|seen| {
                    seen.node.api = server(version);
                    seen.machine.deployments = on_trial().machine.deployments;
                });
                next_with(&seen, &upgrade_in(phase.clone()), &Ok(policy.clone())).0
            };
            assert_eq!(phase_of(&after(fits)), phase);
            let Phase::Reverting {
                reason: Reason::SkewTooLarge { allowed, .. },
            } = phase_of(&after(too_new))
            else {
                panic!("{phase:?} beside {too_new}");
            };
            assert_eq!(allowed, policy.skew);
        }
    }
}

/// careen-deploy removes what it finds damaged, so that the next fetch brings it again.
#[test]
fn damaged_image_is_fetched_again_before_the_upgrade_fails() {
    let verify = Step::Verify {
        commit: digest('b'),
    };
    let deploy = Step::Deploy {
        commit: digest('b'),
    };
    for (step, phase) in [(verify, Phase::Fetched), (deploy, Phase::Verified)] {
        fetched_again_before_it_is_given_up(&step, &phase);
    }
}

fn fetched_again_before_it_is_given_up(step: &Step, phase: &Phase) {
    let reason = Reason::Damaged {
        commit: digest('b').to_string(),
        detail: "x".into(),
    };
    let mut seen = asked();
    seen.turn.finished = finished(step.clone(), Outcome::Failed(reason.clone()));
    let mut record = upgrade_in(phase.clone());
    for _ in 1..at_once().tries {
        let (paused, act) = next(&seen, &record);
        let Act::Wait(Some(due)) = act else {
            panic!("{act:?}")
        };
        let later = seen.clone().with(|seen| {
            seen.turn.now = due;
            seen.turn.finished = None;
        });
        assert_eq!(begun(&next(&later, &paused).1), Some("Fetch"));
        record = paused;
        record.upgrade.as_mut().unwrap().phase = phase.clone();
    }
    let (record, _) = next(&seen, &record);
    assert_eq!(phase_of(&record), Phase::Reverting { reason });
}

#[test]
fn an_unreadable_record_leaves_a_trial_and_touches_nothing_else() {
    let damaged = || Err(Reason::RecordDamaged { detail: "x".into() });
    let policy = Ok(at_once());
    let trial = decide(&on_trial(), &damaged(), &policy)
        .commit(&mut Memory::default())
        .unwrap();
    assert_eq!(trial, (None, Act::Begin(Step::Reboot { force: false })));
    let old = decide(&asked(), &damaged(), &policy)
        .commit(&mut Memory::default())
        .unwrap();
    assert_eq!(old, (None, Act::Wait(None)));
}

/// The kept one of two upgrades ago is in the menu until the blessing of this one.
#[test]
fn manual_boot_of_the_kept_system_halts_and_only_disarms() {
    let under_way = phases().into_iter().filter(|phase| !phase.is_end());
    for (phase, one_shot) in under_way
        .flat_map(|phase| [OneShot::Clear, OneShot::Set].map(|one_shot| (phase.clone(), one_shot)))
    {
        let mut seen = asked();
        (seen.machine.booted, seen.turn.boot, seen.machine.one_shot) =
            (deployment('c'), boot(3), one_shot);
        seen.machine.deployments = ['a', 'b', 'c'].map(deployment).to_vec();
        let (record, act) = next(&seen, &upgrade_in(phase.clone()));
        let booted = digest('c').short().to_owned();
        let reason = Reason::UnknownSystem { booted };
        assert_eq!(phase_of(&record), Phase::Halted { reason }, "{phase:?}");
        assert_eq!(act, Act::Wait(None), "{phase:?}");
        // What is armed would make the next reboot a trial that nobody waits for.
        let (_, act) = next(&seen, &record);
        let first = (one_shot == OneShot::Set).then_some("Disarm");
        assert_eq!(begun(&act), first, "{phase:?}");
    }
}
