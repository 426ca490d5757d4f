//! What an operator relies on, phase by phase.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

fn begun(act: &Act) -> Option<&'static str> {
    match act {
        Act::Begin(step) => Some(step.name()),
        Act::Cancel | Act::Wait(_) => None,
    }
}

/// Every step that can end, with every way in which it can.
fn endings() -> Vec<Option<Finished>> {
    let commit = digest('b');
    let retry = Outcome::Failed(Reason::ApiAway { detail: "x".into() });
    let bad = Outcome::Failed(Reason::DeployFailed {
        verb: "x".into(),
        detail: "x".into(),
    });
    let halt = Outcome::Failed(Reason::UnknownSystem { booted: "x".into() });
    let plain = Outcome::Done(Effect::Plain);
    let steps = [
        (
            Step::Fetch {
                target: "ostree:careen:os".parse().unwrap(),
            },
            Effect::Fetched {
                commit: commit.clone(),
            },
        ),
        (
            Step::Verify {
                commit: commit.clone(),
            },
            Effect::Verified(facts('b')),
        ),
        (Step::Rehearse, Effect::Rehearsed { blocked: None }),
        (
            Step::Deploy {
                commit: commit.clone(),
            },
            Effect::Deployed(deployment('b')),
        ),
        (Step::Drain, Effect::Plain),
        (Step::Snapshot, Effect::Plain),
        (
            Step::Arm {
                deployment: deployment('b'),
            },
            Effect::Plain,
        ),
        (Step::Disarm, Effect::Plain),
        (Step::Reboot { force: false }, Effect::Plain),
        (Step::Kubeadm, Effect::Plain),
        (
            Step::Bless {
                commit: commit.clone(),
            },
            Effect::Plain,
        ),
        (Step::Release, Effect::Plain),
        (Step::Undo { commit }, Effect::Plain),
        (Step::Clean, Effect::Plain),
    ];
    let each = |(step, effect): (Step, Effect)| {
        let ways = [
            Outcome::Done(effect),
            plain.clone(),
            retry.clone(),
            bad.clone(),
            halt.clone(),
            Outcome::Cancelled,
        ];
        ways.map(|outcome| finished(step.clone(), outcome))
    };
    steps.into_iter().flat_map(each).chain([None]).collect()
}

/// Every class of observation that the table tells apart, for one ending of a step.
fn observations(finished: &Option<Finished>) -> Vec<Observation> {
    let mut all = Vec::new();
    for booted in ['a', 'b', 'c'] {
        for number in [1, 2, 3] {
            for trial in [false, true] {
                for one_shot in [OneShot::Clear, OneShot::Set, OneShot::Unreadable] {
                    for reached in [false, true] {
                        for order in [['a', 'b'], ['b', 'a']] {
                            let deployments = order.map(deployment).to_vec();
                            let api = if reached { quiet().api } else { Api::Away };
                            let (boot, booted) = (boot(number), deployment(booted));
                            let finished = finished.clone();
                            all.push(Observation {
                                boot,
                                booted,
                                trial,
                                one_shot,
                                api,
                                deployments,
                                finished,
                                ..asked()
                            });
                        }
                    }
                }
            }
        }
    }
    all
}

fn everything(mut check: impl FnMut(&Phase, &Observation, &Record, &Act)) {
    for ending in endings() {
        for seen in observations(&ending) {
            for phase in phases() {
                for request in [asked().request, Asked::Nothing, Asked::Unknown] {
                    for health in [Health::unknown(), healthy()] {
                        let seen = Observation {
                            request: request.clone(),
                            health,
                            ..seen.clone()
                        };
                        let (record, act) = next(&seen, &upgrade_in(phase.clone()));
                        check(&phase, &seen, &record, &act);
                    }
                }
            }
        }
    }
}

#[test]
fn every_phase_and_observation_has_a_decision_that_its_home_may_take() {
    let mut seen_cases = 0_u32;
    everything(|_, seen, _, act| {
        seen_cases += 1;
        if let Act::Begin(step) = act {
            assert!(
                step.at_home(seen.home),
                "{step:?} is not for {:?}",
                seen.home
            );
        }
    });
    assert!(seen_cases > 200_000, "only {seen_cases} cases");
}

#[test]
fn a_node_is_armed_only_from_the_old_system_with_the_old_one_as_default_and_the_attempt_counted() {
    everything(|_, seen, record, act| {
        if let Act::Begin(Step::Arm { .. }) = act {
            let up = record.upgrade.as_ref().unwrap();
            assert!(seen.booted.same(&up.from), "armed from {:?}", seen.booted);
            assert!(up.tries >= 1, "armed without counting");
            assert!(matches!(up.phase, Phase::Armed { .. }));
        }
    });
}

#[test]
fn only_a_system_that_was_judged_in_this_very_boot_is_blessed() {
    everything(|_, seen, record, act| {
        if let Act::Begin(Step::Bless { .. }) = act {
            assert!(seen.booted.same(&deployment('b')));
            assert_eq!(
                phase_of(record),
                Phase::Healthy {
                    boot: seen.boot.clone()
                }
            );
        }
    });
}

#[test]
fn the_old_system_never_reboots_unless_it_is_armed() {
    everything(|_, seen, record, act| {
        if let Act::Begin(Step::Reboot { .. }) = act
            && seen.booted.same(&deployment('a'))
        {
            let armed_here = phase_of(record)
                == Phase::Armed {
                    boot: seen.boot.clone(),
                };
            assert!(
                armed_here || seen.on_trial(),
                "{:?} in {:?}",
                act,
                phase_of(record)
            );
        }
    });
}

#[test]
fn an_end_is_answered_and_counted_once() {
    everything(|phase, _, record, _| {
        if !phase.is_end() && phase_of(record).is_end() {
            assert_eq!(record.answered, 1);
            assert!(record.upgrade.as_ref().unwrap().closed);
        }
    });
}

#[test]
fn a_request_is_taken_and_fetched_first() {
    let (record, act) = next(&asked(), &Record::default());
    assert_eq!(phase_of(&record), Phase::Accepted);
    assert_eq!(begun(&act), Some("Fetch"));
}

#[test]
fn the_image_that_runs_already_is_upgraded_at_once_and_touches_nothing() {
    let seen = Observation {
        request: Asked::This(pinned('a')),
        ..quiet()
    };
    let (record, act) = next(&seen, &Record::default());
    assert_eq!((phase_of(&record), begun(&act)), (Phase::Upgraded, None));
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
        &Observation {
            request: Asked::This(with_new_id),
            ..quiet()
        },
        &record,
    );
    assert_eq!(begun(&act), Some("Fetch"));
}

#[test]
fn nothing_new_is_begun_while_paused() {
    let seen = Observation {
        paused: Some("holidays".into()),
        ..asked()
    };
    assert_eq!(
        next(&seen, &Record::default()),
        (Record::default(), Act::Wait(None))
    );
}

#[test]
fn a_withdrawn_request_stops_a_running_fetch_and_drain_but_not_a_deployment() {
    let commit = digest('b');
    let running = |step, phase| {
        let seen = Observation {
            running: Some(step),
            ..quiet()
        };
        next(&seen, &upgrade_in(phase)).1
    };
    assert_eq!(running(Step::Drain, Phase::Deployed), Act::Cancel);
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
    let seen = Observation {
        one_shot: OneShot::Set,
        deployments: on_trial().deployments,
        ..quiet()
    };
    let (_, act) = next(&seen, &upgrade_in(Phase::Armed { boot: boot(1) }));
    assert_eq!(begun(&act), Some("Reboot"));
}

#[test]
fn withdrawing_ends_in_failed_with_the_cordon_off_and_the_deployment_gone() {
    let mut record = upgrade_in(Phase::Deployed);
    let mut steps = Vec::new();
    let mut seen = Observation {
        deployments: on_trial().deployments,
        ..quiet()
    };
    for _ in 0..8 {
        let (after, act) = next(&seen, &record);
        record = after;
        seen.finished = match act {
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
fn a_trial_without_a_verdict_is_tried_its_bounded_number_of_times() {
    let mut seen = Observation {
        boot: boot(3),
        deployments: on_trial().deployments,
        ..asked()
    };
    let (second, act) = next(&seen, &upgrade_in(Phase::Trial { boot: boot(2) }));
    assert_eq!(
        begun(&act),
        Some("Arm"),
        "the first trial left no verdict: a second is due"
    );
    assert_eq!(second.upgrade.as_ref().unwrap().tries, 2);
    seen.boot = boot(5);
    let (third, _) = next(&seen, &second);
    assert!(matches!(
        phase_of(&third),
        Phase::Reverting {
            reason: Reason::NoVerdict { tries: 2, .. }
        }
    ));
}

#[test]
fn a_refused_reboot_disarms_first_and_does_not_count_as_a_trial() {
    let refused = Outcome::Failed(Reason::RebootRefused {
        detail: "held by apt".into(),
    });
    let seen = Observation {
        one_shot: OneShot::Set,
        deployments: on_trial().deployments,
        finished: finished(Step::Reboot { force: false }, refused),
        ..asked()
    };
    let (record, act) = next(&seen, &upgrade_in(Phase::Armed { boot: boot(1) }));
    assert_eq!(begun(&act), Some("Disarm"));
    assert_eq!(record.upgrade.as_ref().unwrap().tries, 0);
}

#[test]
fn a_leftover_one_shot_is_cleared_by_the_old_system_whatever_the_phase() {
    for phase in phases()
        .into_iter()
        .filter(|phase| !matches!(phase, Phase::Armed { .. }))
    {
        let seen = Observation {
            one_shot: OneShot::Set,
            deployments: on_trial().deployments,
            ..asked()
        };
        let (_, act) = next(&seen, &upgrade_in(phase.clone()));
        assert_eq!(begun(&act), Some("Disarm"), "{phase:?}");
    }
}

#[test]
fn changed_etc_is_deployed_again_just_before_arming() {
    let seen = Observation {
        etc_stale: true,
        deployments: on_trial().deployments,
        ..asked()
    };
    assert_eq!(
        begun(&next(&seen, &upgrade_in(Phase::Drained)).1),
        Some("Deploy")
    );
}

#[test]
fn a_foreign_default_halts_instead_of_arming() {
    let seen = Observation {
        deployments: vec![deployment('c'), deployment('a'), deployment('b')],
        ..asked()
    };
    let (record, _) = next(&seen, &upgrade_in(Phase::Drained));
    assert!(matches!(
        phase_of(&record),
        Phase::Halted {
            reason: Reason::ForeignDefault { .. }
        }
    ));
}

#[test]
fn the_worker_never_gets_ahead_of_its_api_server() {
    let older = Api::Reached {
        since: SinceBoot(0),
        version: Some("v1.35.9".parse().unwrap()),
    };
    for phase in [Phase::Verified, Phase::Drained] {
        let seen = Observation {
            api: older.clone(),
            deployments: on_trial().deployments,
            ..asked()
        };
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
fn an_unreadable_record_leaves_a_trial_and_touches_nothing_else() {
    let damaged = || Err(Reason::RecordDamaged { detail: "x".into() });
    let policy = Ok(Policy::default());
    let trial = decide(&on_trial(), &damaged(), &policy)
        .commit(&mut Memory::default())
        .unwrap();
    assert_eq!(trial, (None, Act::Begin(Step::Reboot { force: false })));
    let old = decide(&asked(), &damaged(), &policy)
        .commit(&mut Memory::default())
        .unwrap();
    assert_eq!(old, (None, Act::Wait(None)));
}
