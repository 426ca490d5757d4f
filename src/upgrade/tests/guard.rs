//! What the guard in the initramfs lets through.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

fn at(seconds: u64) -> Observation {
    on_trial().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(seconds))
}

fn stage(integrity: Result<(), Unsound>) -> Observation {
    on_trial().with(|seen| {
        seen.turn.home = Home::Stage;
        seen.machine.integrity = Some(integrity);
    })
}

fn differs(what: &str) -> Result<(), Unsound> {
    Err(Unsound::of_the_disk(what.into()))
}

fn armed() -> Record {
    upgrade_in(Phase::Armed { boot: boot(1) })
}

#[test]
fn the_guard_lets_an_armed_and_sound_trial_through_once() {
    let (record, act) = next(&stage(Ok(())), &armed());
    assert_eq!(act, Act::Begin(Step::Pass));
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    let (_, act) = next(
        &stage(Ok(())).with(|seen| seen.turn.boot = boot(3)),
        &record,
    );
    assert_eq!(
        act,
        Act::Begin(Step::Reboot { force: true }),
        "the second boot was not counted"
    );
}

#[test]
fn a_reboot_that_was_refused_long_ago_is_not_told_of_the_trial() {
    let mut record = armed();
    record.upgrade.as_mut().unwrap().retry = Some(upgrade::record::Retry {
        step: StepKind::Reboot.into(),
        tries: 1,
        due: Moment {
            boot: boot(1),
            at: SinceBoot(0),
        },
        reason: Reason::RebootRefused {
            detail: "held by apt".into(),
        },
    });
    let unguarded = Policy {
        unguarded: true,
        ..at_once()
    };
    let by_guard = next(&stage(Ok(())), &record).0;
    let by_agent = next_with(&at(30), &record, &Ok(unguarded)).0;
    for record in [by_guard, by_agent] {
        let told = report(&Ok(record), &at(30), None).unwrap();
        assert_eq!((told.status.phase.as_str(), told.reason), ("Trial", None));
    }
}

#[test]
fn the_guard_refuses_a_damaged_system_and_says_which_file() {
    let (record, act) = next(&stage(differs("usr/bin/kubelet differs")), &armed());
    assert_eq!(act, Act::Begin(Step::Reboot { force: true }));
    let reason = Reason::StageRefused {
        detail: "usr/bin/kubelet differs".into(),
        cause: Cause::Node,
    };
    assert_eq!(phase_of(&record), Phase::Reverting { reason });
}

#[test]
fn the_guard_clears_a_one_shot_that_the_loader_left() {
    let seen = stage(Ok(())).with(|seen| seen.machine.one_shot = OneShot::Set);
    assert_eq!(next(&seen, &armed()).1, Act::Begin(Step::Disarm));
}

#[test]
fn the_guard_never_stands_in_the_way_of_a_boot_that_is_no_trial() {
    let damaged = Err(Reason::RecordDamaged { detail: "x".into() });
    for phase in phases() {
        let seen = stage(differs("damaged")).with(|seen| seen.machine.trial = false);
        assert_eq!(next(&seen, &upgrade_in(phase)).1, Act::Begin(Step::Pass));
        let act = decide(&seen, &damaged, &Ok(at_once())).commit(&mut Memory::default());
        assert_eq!(act.unwrap().1, Act::Begin(Step::Pass));
    }
}

/// The system on trial, whose boot entry carries the trial's arguments, as somebody made it the
/// default.
fn default_on_trial() -> Observation {
    stage(Ok(())).with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = vec![deployment('b'), held('a')];
    })
}

#[test]
fn a_default_with_a_trials_arguments_is_not_rebooted_for_ever() {
    for phase in phases() {
        let not_armed = !matches!(phase, Phase::Armed { .. });
        let (record, act) = next(&default_on_trial(), &upgrade_in(phase.clone()));
        assert_eq!(act, Act::Begin(Step::Pass), "{phase:?}");
        assert_eq!(phase_of(&record) == phase, not_armed, "{phase:?}");
    }
    let (_, act) = next(&default_on_trial(), &Record::default());
    assert_eq!(act, Act::Begin(Step::Pass), "nothing is under way");
    let damaged = Err(Reason::RecordDamaged { detail: "x".into() });
    let act = decide(&default_on_trial(), &damaged, &Ok(at_once()));
    let (_, act) = act.commit(&mut Memory::default()).unwrap();
    assert_eq!(act, Act::Begin(Step::Pass));
}

/// Where /boot is a file system of its own the guard does not see which system is the default.
#[test]
fn the_record_tells_a_default_that_the_guard_cannot_see() {
    let unseen = default_on_trial().with(|seen| seen.machine.deployments = Vec::new());
    let reboot = Act::Begin(Step::Reboot { force: true });
    let trial = upgrade_in(Phase::Trial { boot: boot(2) });
    assert_eq!(next(&unseen, &trial).1, reboot);
    let mut moved = trial;
    let up = moved.upgrade.as_mut().unwrap();
    up.attempt.default.note_moved();
    assert_eq!(next(&unseen, &moved).1, Act::Begin(Step::Pass));
    let proven = upgrade_in(Phase::Upgraded);
    assert_eq!(next(&unseen, &proven).1, Act::Begin(Step::Pass));
    let old = unseen.with(|seen| seen.machine.booted = deployment('a'));
    let armed = upgrade_in(Phase::Armed { boot: boot(2) });
    assert_eq!(next(&old, &armed).1, Act::Begin(Step::Pass), "the old one");
}

/// The reinstatement failed, and the reboot led to the same system again.
#[test]
fn default_that_cannot_be_moved_back_halts_in_the_next_boot() {
    let mut record = upgrade_in(Phase::Reverting {
        reason: Reason::NoApiFromNewSystem {
            seen: String::new(),
        },
    });
    let up = record.upgrade.as_mut().unwrap();
    up.attempt.default = record::NewDefault::Moved {
        reinstated: Some(boot(2)),
    };
    let (record, act) = next(&default_on_trial(), &record);
    assert_eq!(act, Act::Begin(Step::Pass));
    let agent = default_on_trial().with(|seen| seen.turn.home = Home::Agent);
    let (record, act) = next(&agent, &record);
    assert_eq!(act, Act::Wait(None), "no further reboot");
    assert!(matches!(phase_of(&record), Phase::Halted { .. }));
}
