//! The deadman ends a trial that nobody judges, and no other system.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::deadman::{by_default, due, is_due};
use upgrade::*;

fn trial() -> Record {
    let mut record = upgrade_in(Phase::Trial { boot: boot(2) });
    record.upgrade.as_mut().unwrap().attempt.deadline_seconds = 300;
    record
}

fn at(seconds: u64) -> Observation {
    on_trial().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(seconds))
}

#[test]
fn a_trial_without_a_verdict_ends_a_minute_after_its_deadline() {
    assert!(!is_due(&at(359), &Ok(trial())));
    assert!(is_due(&at(360), &Ok(trial())));
}

#[test]
fn an_unreadable_record_ends_a_trial_at_the_default_deadline() {
    let damaged = || Err(Reason::RecordDamaged { detail: "x".into() });
    assert!(!is_due(&at(659), &damaged()));
    assert!(is_due(&at(660), &damaged()));
}

#[test]
fn deadman_derives_the_trial_end_from_its_last_observation() {
    let ends = |seconds| Some(SinceBoot(0).plus_seconds(seconds));
    assert_eq!(due(&at(100), &Ok(trial())), ends(360));
    let mut held = trial();
    let until = SinceBoot(0).plus_seconds(1000);
    held.upgrade.as_mut().unwrap().attempt.hold = Some(Moment {
        boot: boot(2),
        at: until,
    });
    assert_eq!(due(&at(100), &Ok(held)), ends(1000));
    assert_eq!(due(&at(100), &Ok(upgrade_in(Phase::Blessed))), None);
    assert_eq!(Some(by_default()), ends(660), "without any look");
}

#[test]
fn the_agent_may_ask_for_patience_in_this_boot_alone() {
    let mut record = trial();
    let until = SinceBoot(0).plus_seconds(1000);
    record.upgrade.as_mut().unwrap().attempt.hold = Some(Moment {
        boot: boot(2),
        at: until,
    });
    assert!(!is_due(&at(999), &Ok(record.clone())));
    assert!(is_due(&at(1000), &Ok(record.clone())));
    record.upgrade.as_mut().unwrap().attempt.hold = Some(Moment {
        boot: boot(9),
        at: until,
    });
    assert!(is_due(&at(400), &Ok(record)));
}

#[test]
fn deadman_gives_a_healthy_trial_one_hour_to_be_blessed() {
    let well = at(200).with(|seen| seen.turn.health = healthy());
    let (record, act) = next(&well, &trial());
    assert_eq!(begun(&act), Some("Bless"));
    assert_eq!(phase_of(&record), Phase::Healthy { boot: boot(2) });
    let hour = 200 + 3600;
    assert!(!is_due(&at(hour), &Ok(record.clone())));
    assert!(is_due(&at(hour + 60), &Ok(record)), "its agent has died");
}

#[test]
fn a_system_that_is_the_default_is_left_alone_for_ever() {
    assert!(!is_due(&at(90_000), &Ok(upgrade_in(Phase::Blessed))));
    let blessed =
        at(90_000).with(|seen| seen.machine.deployments = vec![deployment('b'), deployment('a')]);
    assert!(!is_due(&blessed, &Ok(upgrade_in(Phase::Accepted))));
    assert!(!is_due(
        &at(90_000).with(|seen| seen.machine.trial = false),
        &Ok(trial())
    ));
}

/// `b` in the boot of its trial, long blessed. It has begun another upgrade, to `d`, and is not
/// seen as the default any more: somebody has made `c` the default, or the boot menu cannot be
/// read.
fn no_longer_the_default() -> [Observation; 2] {
    let menus = [vec![deployment('c'), deployment('b')], vec![]];
    menus.map(|deployments| at(90_000).with(|seen| seen.machine.deployments = deployments))
}

fn with(from: Deployment, to: Option<Deployment>, phase: Phase) -> Record {
    let mut record = upgrade_in(phase);
    let up = record.upgrade.as_mut().unwrap();
    (up.from, up.to) = (from, to);
    record
}

#[test]
fn deadman_spares_a_system_the_next_upgrade_started_from() {
    for seen in no_longer_the_default() {
        for phase in phases() {
            for to in [Some(deployment('d')), None] {
                let record = with(deployment('b'), to, phase.clone());
                assert_eq!(due(&seen, &Ok(record)), None, "{phase:?}");
            }
        }
    }
}

#[test]
fn same_commit_or_unrelated_record_does_not_prove_a_trial() {
    let again = Deployment {
        serial: 1,
        ..deployment('b')
    };
    for from in [deployment('a'), again, deployment('b')] {
        for phase in phases() {
            let ends = !phase.is_proven();
            let record = with(from.clone(), Some(deployment('b')), phase.clone());
            assert_eq!(is_due(&at(90_000), &Ok(record)), ends, "{phase:?}");
        }
    }
    let other = with(deployment('a'), Some(deployment('c')), Phase::Upgraded);
    assert!(is_due(&at(90_000), &Ok(other)), "nobody has proved it");
}
