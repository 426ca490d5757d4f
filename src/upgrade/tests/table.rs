//! What holds of every decision: each phase, in each class of observation, after each ending of a step.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
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
fn every_phase_and_observation_has_a_decision_that_keeps_every_promise() {
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
            for record in burdened(&before) {
                for policy in policies() {
                    let decided = next_with(&seen, &record, &policy);
                    keeps_every_promise(before.clone(), &seen, decided);
                    lines += 1;
                }
            }
        }
    }
    assert!(lines > 300_000, "only {lines} lines");
}

#[test]
fn with_an_unreadable_record_nothing_is_begun_but_leaving_a_trial_disarming_and_booting_on() {
    let unreadable: RecordRead = Err(Reason::RecordNewer {
        format: 7,
        known: 1,
    });
    for seen in observations(&None).iter().flat_map(changed) {
        let decision = decide(&seen, &unreadable, &Ok(Policy::default()));
        let (written, act) = decision.commit(&mut Memory::default()).unwrap();
        assert_eq!(written, None, "it is left for a person to look at");
        match act {
            Act::Begin(Step::Reboot { .. }) => assert!(seen.trial),
            Act::Begin(Step::Disarm) => assert_eq!(seen.one_shot, OneShot::Set),
            Act::Begin(Step::Pass) => assert_eq!(seen.home, Home::Stage),
            other => assert_eq!(other, Act::Wait(None)),
        }
    }
}

/// One thing more that is seen.
fn changed(seen: &Observation) -> Vec<Observation> {
    let changes: [fn(&mut Observation); 9] = [
        |seen| (seen.home, seen.integrity) = (Home::Stage, Some(Ok(()))),
        |seen| (seen.home, seen.integrity) = (Home::Stage, Some(Err("x".into()))),
        |seen| seen.home = Home::Stage,
        |seen| seen.running = Some(drain()),
        |seen| {
            seen.running = Some(Step::Bless {
                commit: digest('b'),
                over: None,
            })
        },
        |seen| seen.paused = Some("holidays".into()),
        |seen| seen.etc_stale = true,
        |seen| seen.loader = Err(Reason::LoaderUnfit { detail: "x".into() }),
        |seen| seen.control_plane = Some("etcd.yaml".into()),
    ];
    let with = |change: fn(&mut Observation)| {
        let mut seen = seen.clone();
        change(&mut seen);
        seen
    };
    changes.into_iter().map(with).collect()
}

/// Records in this phase that carry something from before.
fn burdened(phase: &Phase) -> Vec<Record> {
    let moment = || Moment {
        boot: boot(2),
        at: SinceBoot(200_000),
    };
    let with = |change: &dyn Fn(&mut Upgrade)| {
        let mut record = upgrade_in(phase.clone());
        change(record.upgrade.as_mut().unwrap());
        record
    };
    vec![
        with(&|up| {
            up.retry = Some(upgrade::record::Retry {
                step: "Disarm".into(),
                tries: 4,
                due: moment(),
                reason: Reason::Withdrawn,
            });
        }),
        with(&|up| (up.hold, up.redeploying) = (Some(moment()), true)),
        with(&|up| up.given_up = Some(Reason::UnguardedBoot)),
        with(&|up| (up.redeployed, up.tries, up.released) = (9, 9, true)),
    ]
}

fn policies() -> [PolicyRead; 2] {
    let broken = Reason::BadPolicy {
        file: names::POLICY_FILE.into(),
        line: 1,
        column: 1,
        detail: "x".into(),
    };
    [Ok(Policy::default()), Err(broken.into())]
}

fn a_step_is_begun_only_where_it_is_at_home(line: &Line) {
    if let Act::Begin(step) = &line.act {
        let home = line.seen.home;
        assert!(step.at_home(home), "{step:?} is not for {home:?}");
    }
}

fn a_wait_ends_after_it_began(line: &Line) {
    if let Act::Wait(Some(until)) = line.act {
        assert!(until > line.seen.now, "waits until {until:?}, for ever");
    }
}

fn a_node_is_armed_only_from_the_old_system_with_the_attempt_counted(line: &Line) {
    if let Act::Begin(Step::Arm { .. }) = line.act {
        let (up, booted) = (line.record.upgrade.as_ref().unwrap(), &line.seen.booted);
        assert!(booted.same(&up.from), "armed from {booted:?}");
        assert!(up.tries >= 1, "armed without counting");
        assert!(matches!(up.phase, Phase::Armed { .. }));
    }
}

fn only_a_system_that_was_judged_in_this_very_boot_is_blessed(line: &Line) {
    if let Act::Begin(Step::Bless { .. }) = line.act {
        let boot = line.seen.boot.clone();
        assert!(line.seen.booted.same(&deployment('b')));
        assert_eq!(phase_of(&line.record), Phase::Healthy { boot });
    }
}

fn the_old_system_never_reboots_unless_it_is_armed(line: &Line) {
    // The guard leaves whatever carries a trial's argument and was not armed.
    let guard = line.seen.home == Home::Stage;
    let runs_old = line.seen.booted.same(&deployment('a')) && !guard;
    if matches!(line.act, Act::Begin(Step::Reboot { .. })) && runs_old {
        let (phase, boot) = (phase_of(&line.record), line.seen.boot.clone());
        let armed_here = phase == Phase::Armed { boot };
        assert!(armed_here || line.seen.on_trial(), "reboots in {phase:?}");
    }
}

fn an_end_is_answered_and_counted_once(line: &Line) {
    if !line.before.is_end() && phase_of(&line.record).is_end() {
        assert_eq!(line.record.answered, 1);
        assert!(line.record.upgrade.as_ref().unwrap().closed);
    }
}

/// No step has ended, or one has, in every way in which it can.
fn endings() -> Vec<Option<Finished>> {
    let ended = |(step, effect): (Step, Effect)| {
        let ways = ways(effect).into_iter();
        ways.map(move |way| finished(step.clone(), way))
    };
    [None]
        .into_iter()
        .chain(steps().into_iter().flat_map(ended))
        .collect()
}

fn ways(effect: Effect) -> Vec<Outcome> {
    let x = || "x".to_owned();
    let bad = Reason::DeployFailed {
        verb: x(),
        detail: x(),
    };
    let mut ways = vec![
        Outcome::Failed(Reason::ApiAway { detail: x() }),
        Outcome::Failed(bad),
        Outcome::Failed(Reason::UnknownSystem { booted: x() }),
        Outcome::Cancelled,
        Outcome::Done(Effect::Plain),
    ];
    if effect != Effect::Plain {
        ways.push(Outcome::Done(effect));
    }
    ways
}

/// Every class of observation that the table tells apart, for one ending of a step.
fn observations(ending: &Option<Finished>) -> Vec<Observation> {
    let mut all = vec![Observation {
        finished: ending.clone(),
        ..asked()
    }];
    vary(&mut all, &['a', 'b', 'c'], |seen, letter| {
        seen.booted = deployment(*letter)
    });
    vary(&mut all, &[1, 2, 3], |seen, number| {
        seen.boot = boot(*number)
    });
    vary(&mut all, &[false, true], |seen, trial| seen.trial = *trial);
    let entries = [OneShot::Clear, OneShot::Set, OneShot::Unreadable];
    vary(&mut all, &entries, |seen, entry| seen.one_shot = *entry);
    vary(&mut all, &[Api::Away, quiet().api], |seen, api| {
        seen.api = api.clone()
    });
    vary(&mut all, &[['a', 'b'], ['b', 'a']], |seen, order| {
        seen.deployments = order.map(deployment).to_vec()
    });
    // What is asked for matters before the arming alone, health after it alone: so they vary together.
    let together = [
        (asked().request, Health::unknown()),
        (Asked::Nothing, healthy()),
        (Asked::Unknown, Health::unknown()),
    ];
    vary(&mut all, &together, |seen, (request, health)| {
        (seen.request, seen.health) = (request.clone(), health.clone());
    });
    all
}

/// Multiplies the observations by the values of one thing that is seen.
fn vary<T>(all: &mut Vec<Observation>, values: &[T], set: impl Fn(&mut Observation, &T)) {
    let with = |seen: &Observation, value| {
        let mut seen = seen.clone();
        set(&mut seen, value);
        seen
    };
    *all = all
        .iter()
        .flat_map(|seen| values.iter().map(move |value| (seen, value)))
        .map(|(seen, value)| with(seen, value))
        .collect();
}
