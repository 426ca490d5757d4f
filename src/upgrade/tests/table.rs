//! What holds of every decision: each phase, in each class of observation, after each ending of a
//! step.
#![allow(clippy::unwrap_used)]

#[path = "table/look.rs"]
mod look;
mod scene;

use look::*;
use scene::*;
use std::collections::{BTreeMap, BTreeSet};
use upgrade::*;

/// One line of the table.
struct Line {
    before: Phase,
    seen: Observation,
    record: Record,
    act: Act,
}

/// What an operator relies on, whatever happens.
const PROMISES: [fn(&Line); 6] = [
    a_step_is_begun_only_where_it_is_at_home,
    a_wait_ends_after_it_began,
    a_node_is_armed_only_from_the_old_system_with_the_attempt_counted,
    only_a_system_that_was_judged_in_this_very_boot_is_blessed,
    the_old_system_never_reboots_unless_it_is_armed,
    an_end_is_answered_and_counted_once,
];

fn keeps_every_promise(before: Phase, seen: &Observation, (record, act): (Record, Act)) {
    let seen = seen.clone();
    let line = Line {
        before,
        seen,
        record,
        act,
    };
    PROMISES.iter().for_each(|promise| promise(&line));
}

#[test]
fn every_phase_and_observation_yields_a_valid_decision() {
    let mut lines = 0_u32;
    for ending in endings() {
        for seen in observations(&ending) {
            for before in phases() {
                let decided = next(&seen, &upgrade_in(before.clone()));
                keeps_every_promise(before, &seen, decided);
                lines += 1;
            }
        }
    }
    assert!(lines > 600_000, "only {lines} lines");
}

/// What the table above leaves as it is, one thing changed at a time.
#[test]
fn whatever_else_is_seen_every_promise_is_kept() {
    let mut lines = 0_u32;
    for seen in observations(&None).iter().flat_map(changed) {
        for before in phases() {
            for (record, policy) in remembered(&before) {
                let decided = next_with(&seen, &record, &policy);
                keeps_every_promise(before.clone(), &seen, decided);
                lines += 1;
            }
        }
    }
    assert!(lines > 1_500_000, "only {lines} lines");
}

/// A field that is added does not compile in [`fields`], and is found here until the table varies
/// it.
#[test]
fn the_table_leaves_nothing_that_is_seen_at_one_value() {
    let mut values = BTreeMap::<_, BTreeSet<String>>::new();
    let all = observations(&None);
    let ended = observations(&endings()[1]);
    for seen in all.iter().flat_map(changed).chain(all.clone()).chain(ended) {
        for (field, value) in fields(&seen) {
            values.entry(field).or_default().insert(value);
        }
    }
    let constant = values.iter().filter(|(_, values)| values.len() < 2);
    let constant: Vec<_> = constant.map(|(field, _)| field).collect();
    assert!(constant.is_empty(), "{constant:?} never change");
}

/// A step or a phase that is added does not compile in [`place_of_step`] or [`place_of_phase`].
#[test]
fn decision_table_covers_every_step_form_and_phase() {
    let steps: BTreeSet<_> = endings()
        .iter()
        .flatten()
        .map(|one| place_of_step(&one.step))
        .collect();
    assert_eq!(steps, (0..STEPS).collect());
    let phases: BTreeSet<_> = phases().iter().map(place_of_phase).collect();
    assert_eq!(phases, (0..PHASES).collect());
}

#[test]
fn unreadable_record_permits_only_reboot_disarm_and_pass() {
    let unreadable: RecordRead = Err(Reason::RecordNewer {
        format: 7,
        known: 1,
    });
    for seen in observations(&None).iter().flat_map(changed) {
        let decision = decide(&seen, &unreadable, &Ok(at_once()));
        let (written, act) = decision.commit(&mut Memory::default()).unwrap();
        assert_eq!(written, None, "it is left for a person to look at");
        match act {
            Act::Begin(Step::Reboot { .. }) => assert!(seen.machine.trial),
            Act::Begin(Step::Disarm) => assert_eq!(seen.machine.one_shot, OneShot::Set),
            Act::Begin(Step::Pass) => assert_eq!(seen.turn.home, Home::Stage),
            other => assert_eq!(other, Act::Wait(None)),
        }
    }
}

fn a_step_is_begun_only_where_it_is_at_home(line: &Line) {
    if let Act::Begin(step) = &line.act {
        let home = line.seen.turn.home;
        assert!(step.at_home(home), "{step:?} is not for {home:?}");
    }
}

fn a_wait_ends_after_it_began(line: &Line) {
    if let Act::Wait(Some(until)) = line.act {
        assert!(
            until > line.seen.turn.now,
            "waits until {until:?}, for ever"
        );
    }
}

fn a_node_is_armed_only_from_the_old_system_with_the_attempt_counted(line: &Line) {
    if let Act::Begin(Step::Arm { .. }) = line.act {
        let (up, booted) = (
            line.record.upgrade.as_ref().unwrap(),
            &line.seen.machine.booted,
        );
        assert!(booted.same(&up.from), "armed from {booted:?}");
        assert!(up.attempt.tries >= 1, "armed without counting");
        assert!(
            line.seen.machine.default_is_pinned(),
            "armed without the pin"
        );
        assert!(matches!(up.phase, Phase::Armed { .. }));
    }
}

fn only_a_system_that_was_judged_in_this_very_boot_is_blessed(line: &Line) {
    if let Act::Begin(Step::Bless { .. }) = line.act {
        let boot = line.seen.turn.boot.clone();
        assert!(line.seen.machine.booted.same(&deployment('b')));
        assert_eq!(phase_of(&line.record), Phase::Healthy { boot });
    }
}

fn the_old_system_never_reboots_unless_it_is_armed(line: &Line) {
    // The guard leaves whatever carries a trial's argument and was not armed.
    let guard = line.seen.turn.home == Home::Stage;
    let runs_old = line.seen.machine.booted.same(&deployment('a')) && !guard;
    if matches!(line.act, Act::Begin(Step::Reboot { .. })) && runs_old {
        let (phase, boot) = (phase_of(&line.record), line.seen.turn.boot.clone());
        let armed_here = phase == Phase::Armed { boot };
        assert!(
            armed_here || line.seen.machine.on_trial(),
            "reboots in {phase:?}"
        );
    }
}

fn an_end_is_answered_and_counted_once(line: &Line) {
    if !line.before.is_end() && phase_of(&line.record).is_end() {
        assert_eq!(line.record.answered, 1);
        assert!(line.record.upgrade.as_ref().unwrap().closed);
    }
}
