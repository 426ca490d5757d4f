//! What an upgrade costs is counted, survives reboots, and how requests ended is counted over the
//! node's life.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::bill::Now;
use upgrade::*;

/// What the watches show: cordoned, drained, not Ready.
fn bill(record: &Record, seen: &Observation) -> [u64; 3] {
    let bill = &record.upgrade.as_ref().unwrap().bill;
    let now = Now {
        boot: &seen.turn.boot,
        at: seen.turn.now,
        wall: seen.turn.wall,
    };
    [&bill.cordoned, &bill.drained, &bill.not_ready].map(|watch| watch.shows(now))
}

fn at(seconds: u64, seen: &Observation) -> Observation {
    seen.clone().with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(seconds);
        seen.turn.wall = WALL + seconds;
    })
}

fn done(step: Step, seen: &Observation) -> Observation {
    seen.clone()
        .with(|seen| seen.turn.finished = finished(step, Outcome::Done(Effect::Plain)))
}

/// The old system with the new one beside it.
fn old() -> Observation {
    asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments)
}

/// Drained from second 100 to 160, armed and about to reboot at second 200.
fn rebooting() -> Record {
    let (record, act) = next(&at(100, &old()), &upgrade_in(Phase::Deployed));
    assert_eq!(begun(&act), Some("Drain"));
    let (mut record, _) = next(&at(160, &done(drain(), &old())), &record);
    assert_eq!(phase_of(&record), Phase::Drained);
    record.upgrade.as_mut().unwrap().attempt.saved = true;
    let (record, _) = next(&at(190, &old()), &record);
    let armed = old().with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.turn.finished = just_armed();
    });
    let (record, act) = next(&at(200, &armed), &record);
    assert_eq!(begun(&act), Some("Reboot"));
    record
}

/// The new system, in a boot that began at second 230.
fn tried(seconds: u64) -> Observation {
    on_trial().with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(seconds - 230);
        seen.turn.wall = WALL + seconds;
    })
}

#[test]
fn bill_counts_cordon_from_drain_start_and_pods_from_drain_end() {
    let record = rebooting();
    assert_eq!(bill(&record, &at(200, &old())), [100, 40, 0]);
}

#[test]
fn bill_keeps_counting_after_the_reboot_until_the_node_is_ready() {
    let record = rebooting();
    assert_eq!(bill(&record, &tried(250)), [150, 90, 50], "not Ready yet");
    let mut record = record;
    record.upgrade.as_mut().unwrap().attempt.guarded = Some(boot(2));
    let well = tried(260).with(|seen| seen.turn.health = healthy());
    let (record, _) = next(&well, &record);
    assert_eq!(bill(&record, &tried(300)), [200, 140, 60], "Ready at 260");
}

#[test]
fn bill_counts_a_bad_trial_until_the_old_system_is_ready() {
    let mut record = rebooting();
    record.upgrade.as_mut().unwrap().attempt.guarded = Some(boot(2));
    let ready = Health {
        kubelet: Check::Fail("down".into()),
        ..healthy()
    };
    let ill = tried(250).with(|seen| seen.turn.health = ready.clone());
    let (record, _) = next(&ill, &record);
    let late = tried(900).with(|seen| seen.turn.health = ready);
    let (record, act) = next(&late, &record);
    assert_eq!(begun(&act), Some("Reboot"));
    let back = old().with(|seen| {
        seen.turn.boot = boot(3);
        seen.turn.now = SinceBoot(40_000);
        seen.turn.wall = WALL + 970;
        seen.turn.health = Health {
            ready: Check::Pass,
            ..Health::unknown()
        };
    });
    let (record, _) = next(&back, &record);
    assert_eq!(bill(&record, &back)[2], 770);
    let later = back.with(|seen| seen.turn.wall = WALL + 2_000);
    assert_eq!(bill(&record, &later)[2], 770, "no more");
}

#[test]
fn with_the_cordon_off_nothing_is_counted_any_more() {
    let mut record = rebooting();
    let up = record.upgrade.as_mut().unwrap();
    up.phase = Phase::Blessed;
    up.attempt.kubeadm.configured = Some(tried(280).turn.boot);
    let serving = tried(280).with(|seen| {
        seen.machine.deployments = vec![deployment('b'), deployment('a')];
        seen.turn.health = healthy();
    });
    let (record, act) = next(&serving, &record);
    assert_eq!(begun(&act), Some("Release"));
    let (record, _) = next(&done(Step::Release, &serving), &record);
    assert_eq!(bill(&record, &tried(9_000)), [180, 120, 80]);
}

#[test]
fn a_reboot_that_never_came_is_not_on_the_bill() {
    let record = rebooting();
    let refused = Outcome::Failed(Reason::RebootRefused { detail: "x".into() });
    let seen = at(230, &old()).with(|seen| {
        seen.turn.finished = finished(Step::Reboot { force: false }, refused);
        seen.machine.one_shot = OneShot::Set;
        seen.turn.health = healthy();
    });
    let (record, _) = next(&seen, &record);
    let again = at(400, &old()).with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.turn.finished = just_armed();
    });
    let mut record = record;
    record.upgrade.as_mut().unwrap().phase = Phase::Armed { boot: boot(1) };
    record.upgrade.as_mut().unwrap().retry = None;
    let (record, act) = next(&again, &record);
    assert_eq!(begun(&act), Some("Reboot"));
    let seen = tried(450).with(|seen| seen.turn.now = SinceBoot(20_000));
    assert_eq!(bill(&record, &seen)[2], 50, "since second 400");
}

#[test]
fn clock_jump_across_the_reboot_bills_only_the_current_boot() {
    let record = rebooting();
    for wall in [0, WALL - 5_000, WALL * 2] {
        let seen = tried(250).with(|seen| seen.turn.wall = wall);
        assert_eq!(bill(&record, &seen)[2], 20, "at {wall}");
    }
}

#[test]
fn looking_again_at_the_same_moment_writes_nothing_more() {
    let record = rebooting();
    let seen = at(201, &old()).with(|seen| {
        seen.turn.running = Some(Step::Reboot { force: false });
        seen.machine.one_shot = OneShot::Set;
    });
    assert_eq!(next(&seen, &record).0, record);
}

/// The tally after an upgrade has come from this phase to its end, with so many trial boots behind
/// it.
fn tally_of(reason: Reason, tries: u32) -> counters::Tally {
    let mut record = upgrade_in(Phase::Reverting { reason });
    let up = record.upgrade.as_mut().unwrap();
    (up.custody, up.cleaned, up.attempt.tries) = (given_back(), true, tries);
    let (record, _) = next(&old(), &record);
    let (again, _) = next(&old(), &record);
    assert_eq!(record.tally, again.tally, "counted once");
    record.tally
}

#[test]
fn tally_separates_fallbacks_from_failures_before_any_trial() {
    let fell = tally_of(
        Reason::NoApiFromNewSystem {
            seen: String::new(),
        },
        2,
    );
    assert_eq!(fell.fell_back["NoApiFromNewSystem"], 1);
    assert_eq!((fell.failed.len(), fell.trial_boots), (0, 2));
    let failed = tally_of(Reason::Withdrawn { replaced_by: None }, 0);
    assert_eq!(failed.failed["Withdrawn"], 1);
    assert_eq!((failed.fell_back.len(), failed.trial_boots), (0, 0));
}

#[test]
fn refusals_are_counted_by_reason() {
    let loader = Err(Reason::LoaderUnfit { detail: "x".into() });
    let seen = asked().with(|seen| seen.machine.loader = loader);
    let (record, _) = next(&seen, &Record::default());
    assert_eq!(record.tally.refused["LoaderUnfit"], 1);
    let (again, _) = next(&seen, &record);
    assert_eq!(
        again.tally.refused["LoaderUnfit"], 1,
        "a request is spent once"
    );
}

#[test]
fn record_without_bill_and_tally_reads_and_writes_unchanged() {
    let old = serde_json::to_string(&upgrade_in(Phase::Deployed)).unwrap();
    assert!(!old.contains("bill") && !old.contains("tally"), "{old}");
    let read: Record = serde_json::from_str(&old).unwrap();
    assert!(read.tally.is_blank() && read.upgrade.unwrap().bill.is_blank());
}

#[test]
fn what_a_newer_version_counts_is_kept() {
    let text = r#"{"upgraded":3,"rested":{"Sunday":2}}"#;
    let tally: counters::Tally = serde_json::from_str(text).unwrap();
    assert_eq!(tally.upgraded, 3);
    assert!(
        serde_json::to_string(&tally)
            .unwrap()
            .contains(r#""rested":{"Sunday":2}"#)
    );
}

#[test]
fn the_list_of_phases_names_every_phase_in_its_order() {
    let names: Vec<_> = phases().iter().map(Phase::name).collect();
    assert_eq!(names, Phase::NAMES);
}
