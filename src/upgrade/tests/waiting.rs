//! Hours in which an upgrade only waits for its operator are told apart from those in which it
//! works.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::bill::Now;
use upgrade::*;

/// Friday 08:00 UTC, as the scene has it; the hours begin at 22:00.
const TO_THE_HOURS: u64 = 14 * 3600;

fn by_night(seen: &Observation, record: &Record) -> (Record, Act) {
    let mut policy = at_once();
    policy
        .window
        .open
        .push("daily 22:00-06:00".parse().unwrap());
    next_with(seen, record, &Ok(policy))
}

/// So many seconds later.
fn later(seconds: u64, seen: &Observation) -> Observation {
    seen.clone().with(|new| {
        new.turn.now = seen.turn.now.plus_seconds(seconds);
        new.turn.wall = seen.turn.wall + seconds;
    })
}

fn paused(seen: &Observation) -> Observation {
    seen.clone().with(|seen| {
        seen.node.paused = Some("an audit".into());
        seen.machine.deployments = on_trial().machine.deployments;
    })
}

fn resumed(seen: &Observation) -> Observation {
    paused(seen).with(|seen| seen.node.paused = None)
}

fn waited(record: &Record, seen: &Observation) -> u64 {
    let bill = &record.upgrade.as_ref().unwrap().bill;
    bill.waiting.shows(Now::from(seen))
}

/// The seconds that were waited in each phase that is over or in which a wait has ended.
fn by_phase(record: &Record) -> Vec<(&str, u64)> {
    let reached = &record.upgrade.as_ref().unwrap().reached;
    reached
        .iter()
        .map(|phase| (phase.phase.as_str(), phase.waited))
        .collect()
}

#[test]
fn wait_for_the_window_is_counted_until_the_first_step() {
    let (record, _) = by_night(&asked(), &Record::default());
    let evening = later(TO_THE_HOURS - 1, &asked());
    assert_eq!(waited(&record, &evening), TO_THE_HOURS - 1, "it runs");
    let night = later(TO_THE_HOURS, &asked());
    let (record, act) = by_night(&night, &record);
    assert_eq!(begun(&act), Some("Fetch"));
    assert_eq!(waited(&record, &later(60, &night)), TO_THE_HOURS, "no more");
    assert_eq!(by_phase(&record), [("Accepted", TO_THE_HOURS)]);
}

#[test]
fn looking_at_the_clock_again_in_a_wait_writes_nothing() {
    let (record, _) = by_night(&asked(), &Record::default());
    assert_eq!(by_night(&later(3600, &asked()), &record).0, record);
}

#[test]
fn a_pause_is_waiting_from_the_end_of_the_step_under_way_on() {
    let running = paused(&asked()).with(|seen| seen.turn.running = Some(drain()));
    let (record, _) = next(&running, &upgrade_in(Phase::Deployed));
    let ended = later(40, &paused(&asked()))
        .with(|seen| seen.turn.finished = finished(drain(), Outcome::Done(Effect::Plain)));
    let (record, _) = next(&ended, &record);
    assert_eq!(waited(&record, &later(100, &paused(&asked()))), 60);
    let (record, act) = next(&later(640, &resumed(&asked())), &record);
    assert!(begun(&act).is_some());
    assert_eq!(by_phase(&record).last(), Some(&("Drained", 600)));
}

#[test]
fn a_reboot_in_the_wait_does_not_end_it() {
    let (record, _) = next(&paused(&asked()), &upgrade_in(Phase::Deployed));
    let rebooted = paused(&asked()).with(|seen| {
        seen.turn.boot = boot(7);
        seen.turn.now = SinceBoot(30_000);
        seen.turn.wall = WALL + 5_000;
    });
    let (record, _) = next(&rebooted, &record);
    assert_eq!(waited(&record, &rebooted), 5_000);
}

#[test]
fn withdrawal_during_a_wait_ends_the_wait_in_the_same_phase() {
    let (held, _) = next(&paused(&asked()), &upgrade_in(Phase::Deployed));
    let taken_back = later(30, &paused(&quiet()));
    let (record, act) = next(&taken_back, &held);
    assert_eq!(begun(&act), Some("Release"));
    assert_eq!(by_phase(&record), [("Deployed", 30), ("Reverting", 0)]);
}

#[test]
fn a_soak_and_a_pause_before_another_try_are_work() {
    let mut policy = at_once();
    policy.health.soak_seconds = 3600;
    let well = on_trial().with(|seen| seen.turn.health = healthy());
    let trial = upgrade_in(Phase::Trial { boot: boot(2) });
    let (soaking, _) = next_with(&well, &trial, &Ok(policy));
    let up = soaking.upgrade.as_ref().unwrap();
    assert!(matches!(up.waits, Some(Reason::Soaking { .. })));
    assert_eq!(waited(&soaking, &later(600, &well)), 0);
    let failed = resumed(&asked()).with(|seen| {
        seen.turn.finished = finished(
            drain(),
            Outcome::Failed(Reason::DrainRefused { detail: "x".into() }),
        )
    });
    let (record, _) = next(&failed, &upgrade_in(Phase::Deployed));
    assert_eq!(waited(&record, &later(5, &resumed(&asked()))), 0);
}

#[test]
fn the_node_says_since_when_it_waits_and_no_longer_than_it_does() {
    let since = |seen: &Observation, record: &Record| {
        let told = report(&Ok(record.clone()), seen, None).unwrap();
        told.status.waiting_since
    };
    let (held, _) = next(&paused(&asked()), &upgrade_in(Phase::Deployed));
    assert_eq!(since(&later(90, &paused(&asked())), &held), Some(WALL));
    let on = later(100, &resumed(&asked()));
    let (record, _) = next(&on, &held);
    assert_eq!(since(&on, &record), None);
}
