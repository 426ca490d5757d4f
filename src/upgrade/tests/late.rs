//! How late in the operator's hours a node is still taken from its users.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::bill::Seconds;
use upgrade::history::Past;
use upgrade::report::Answer;
use upgrade::window::LastBegin;
use upgrade::*;

const MINUTE: u64 = 60;

fn hours(open: &[&str], last_begin: LastBegin) -> Policy {
    let mut policy = at_once();
    policy.window.open = open.iter().map(|text| text.parse().unwrap()).collect();
    policy.window.last_begin = last_begin;
    policy
}

fn night(last_begin: LastBegin) -> Policy {
    hours(&["daily 22:00-06:00"], last_begin)
}

/// In the night from Friday to Saturday, so many seconds before its hours end at six.
fn left(seconds: u64) -> Observation {
    // The scene's clock shows Friday, 08:00.
    let end = WALL + 22 * 3600;
    asked().with(|seen| {
        seen.turn.wall = end - seconds;
        seen.machine.deployments = on_trial().machine.deployments;
    })
}

/// An upgrade that has come well to its end, having fetched for an hour.
fn past(cordoned: u64) -> Past {
    Past {
        id: None,
        answer: Answer::Upgraded,
        image: "ostree:careen:os".into(),
        from: None,
        to: None,
        began: WALL - 90_000,
        ended: WALL - 80_000,
        seconds: Some(Seconds {
            working: cordoned + 3600,
            cordoned,
            ..Seconds::default()
        }),
        tries: 1,
        code: None,
        reason: None,
    }
}

/// Deployed, on a node whose upgrades took so long.
fn deployed(pasts: &[u64]) -> Record {
    Record {
        past: pasts.iter().map(|cordoned| past(*cordoned)).collect(),
        ..upgrade_in(Phase::Deployed)
    }
}

fn waits(record: &Record) -> Option<String> {
    let waits = record.upgrade.as_ref().unwrap().waits.clone();
    waits.map(|why| why.to_string())
}

#[test]
fn node_is_taken_only_while_enough_window_minutes_remain() {
    use LastBegin::{Minutes, Usual};
    for (last_begin, pasts, seconds, begins) in [
        (Minutes(30), &[][..], 30 * MINUTE, true),
        (Minutes(30), &[], 29 * MINUTE + 1, true),
        (Minutes(30), &[], 29 * MINUTE, false),
        (Minutes(30), &[], 1, false),
        (Minutes(0), &[1200], 1, true),
        (Usual, &[], 1, true),
        (Usual, &[1200], 20 * MINUTE, true),
        (Usual, &[1200], 19 * MINUTE, false),
        (Usual, &[60, 1200, 5000], 19 * MINUTE, false),
        (Usual, &[60, 1200, 5000], 20 * MINUTE, true),
    ] {
        let policy = Ok(night(last_begin));
        let (record, act) = next_with(&left(seconds), &deployed(pasts), &policy);
        let case = format!("{last_begin:?} {pasts:?} {seconds}");
        assert_eq!(begun(&act), begins.then_some("Drain"), "{case}");
        assert_eq!(waits(&record).is_none(), begins, "{case}");
    }
}

#[test]
fn short_window_wait_states_minutes_needed_and_next_opening() {
    let said = |last_begin, pasts: &[u64]| {
        let policy = Ok(night(last_begin));
        let (record, act) = next_with(&left(60), &deployed(pasts), &policy);
        let soon = left(60).turn.now.plus_seconds(3600);
        assert_eq!(act, Act::Wait(Some(soon)), "the clock may be put right");
        waits(&record).unwrap()
    };
    assert_eq!(
        said(LastBegin::Minutes(30), &[]),
        "waiting for the maintenance window: it is open until Sat 06:00 UTC, and a drain begins with at least 30 min left (last-begin-minutes); it opens again Sat 22:00 UTC. No action is needed, unless the window is too short, or its time zone or the time is unknown."
    );
    let usual = said(LastBegin::Usual, &[1190]);
    assert!(
        usual.contains("20 min left, as long as upgrades usually"),
        "{usual}"
    );
}

#[test]
fn short_window_wait_is_not_rewritten_every_minute() {
    let policy = Ok(night(LastBegin::Minutes(30)));
    let (waiting, _) = next_with(&left(10 * MINUTE), &deployed(&[]), &policy);
    let (later, _) = next_with(&left(9 * MINUTE), &waiting, &policy);
    assert_eq!(later, waiting);
}

#[test]
fn window_that_is_never_long_enough_says_so_and_is_rechecked() {
    let policy = hours(
        &["daily 22:00-22:20", "Sun 02:00-02:25"],
        LastBegin::Minutes(30),
    );
    let friday_morning = left(0).with(|seen| seen.turn.wall = WALL);
    let in_the_hours = left(0).with(|seen| seen.turn.wall = WALL + 14 * 3600);
    for seen in [friday_morning, in_the_hours] {
        let (record, act) = next_with(&seen, &deployed(&[]), &Ok(policy.clone()));
        assert_eq!(act, Act::Wait(Some(seen.turn.now.plus_seconds(3600))));
        let said = waits(&record).unwrap();
        for part in [
            "never open for more than 25 min",
            "30 min left",
            "last-begin-minutes to 25 or less",
            "(0: ",
        ] {
            assert!(said.contains(part), "no {part:?} in: {said}");
        }
    }
}

#[test]
fn exactly_long_window_permits_a_drain_in_its_first_minute_only() {
    let policy = Ok(hours(&["daily 22:00-22:30"], LastBegin::Minutes(30)));
    let at = |seconds| left(0).with(|seen| seen.turn.wall = WALL + 14 * 3600 + seconds);
    let step = |seconds| next_with(&at(seconds), &deployed(&[]), &policy).1;
    assert_eq!(begun(&step(59)), Some("Drain"));
    assert_eq!(begun(&step(60)), None);
}

#[test]
fn wait_names_the_first_window_that_is_long_enough() {
    let policy = Ok(hours(
        &["daily 22:00-22:20", "Sun 02:00-05:00"],
        LastBegin::Minutes(30),
    ));
    let (record, _) = next_with(&asked(), &deployed(&[]), &policy);
    let said = waits(&record).unwrap();
    assert!(said.contains(": it opens Sun 02:00 UTC. "), "{said}");
    // What nobody notices is done in the short ones.
    let (record, _) = next_with(&asked(), &upgrade_in(Phase::Fetched), &policy);
    let said = waits(&record).unwrap();
    assert!(said.contains(": it opens Fri 22:00 UTC. "), "{said}");
}

#[test]
fn fetch_verify_and_rehearse_start_until_the_window_ends() {
    let policy = Ok(night(LastBegin::Minutes(30)));
    for (phase, step) in [
        (Phase::Accepted, "Fetch"),
        (Phase::Fetched, "Verify"),
        (Phase::Verified, "Rehearse"),
    ] {
        let (_, act) = next_with(&left(1), &upgrade_in(phase), &policy);
        assert_eq!(begun(&act), Some(step));
    }
}

#[test]
fn hooks_and_load_balancers_are_not_begun_either() {
    let mut policy = night(LastBegin::Minutes(30));
    policy.load_balancer.exclude = true;
    let hooks = Hooks {
        pre: true,
        post: true,
    };
    let late = left(60).with(|seen| seen.machine.hooks = hooks);
    let (record, act) = next_with(&late, &deployed(&[]), &Ok(policy.clone()));
    assert_eq!(begun(&act), None);
    assert!(
        !record.upgrade.unwrap().custody.hooks_due(),
        "nothing to undo"
    );
    let without = left(60);
    let (_, act) = next_with(&without, &deployed(&[]), &Ok(policy));
    assert_eq!(begun(&act), None);
}

#[test]
fn node_already_being_taken_proceeds_despite_too_few_minutes() {
    let policy = Ok(night(LastBegin::Minutes(30)));
    let hooks = Hooks {
        pre: true,
        post: true,
    };
    let early = left(30 * MINUTE).with(|seen| seen.machine.hooks = hooks);
    let (record, act) = next_with(&early, &deployed(&[]), &policy);
    assert_eq!(act, Act::Begin(Step::PreHooks));
    let passed = left(60).with(|seen| {
        seen.machine.hooks = hooks;
        seen.turn.finished = finished(Step::PreHooks, Outcome::Done(Effect::Plain));
    });
    let (record, act) = next_with(&passed, &record, &policy);
    assert_eq!(begun(&act), Some("Drain"));
    let drained = left(30).with(|seen| {
        seen.machine.hooks = hooks;
        seen.turn.finished = finished(drain(), Outcome::Done(Effect::Plain));
    });
    let (_, act) = next_with(&drained, &record, &policy);
    assert_eq!(begun(&act), Some("Snapshot"));
}

#[test]
fn released_node_is_taken_again_only_with_enough_minutes_left() {
    let policy = Ok(night(LastBegin::Minutes(30)));
    let mut record = upgrade_in(Phase::Drained);
    record.upgrade.as_mut().unwrap().custody = taken(|taken| taken.hooks_due = true);
    let given_back = asked()
        .with(|seen| seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain)));
    let (record, _) = next_with(&given_back, &record, &policy);
    assert_eq!(phase_of(&record), Phase::Deployed);
    let (_, act) = next_with(&left(60), &record, &policy);
    assert_eq!(begun(&act), None);
    let (_, act) = next_with(&left(30 * MINUTE), &record, &policy);
    assert_eq!(begun(&act), Some("Drain"));
}

#[test]
fn without_hours_no_minutes_are_wanted() {
    let policy = Ok(hours(&[], LastBegin::Minutes(1440)));
    let (_, act) = next_with(&left(0), &deployed(&[3600]), &policy);
    assert_eq!(begun(&act), Some("Drain"));
}

#[test]
fn kept_time_excludes_fetches_pauses_and_failed_upgrades() {
    assert_eq!(past(1200).kept(), Some(1200));
    let paused = Past {
        seconds: Some(Seconds {
            working: 500,
            waiting: 9000,
            cordoned: 9300,
            ..Seconds::default()
        }),
        ..past(0)
    };
    assert_eq!(paused.kept(), Some(500));
    let failed = Past {
        answer: Answer::Failed,
        ..past(1200)
    };
    assert_eq!(failed.kept(), None);
}
