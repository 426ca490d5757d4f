//! What the operator's hours do to an upgrade.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

/// Friday 2027-01-15 08:00 UTC, as the scene has it; the hours begin at 22:00.
const TO_THE_HOURS: u64 = 14 * 3600;

fn night() -> Policy {
    let mut policy = at_once();
    policy
        .window
        .open
        .push("daily 22:00-06:00".parse().unwrap());
    policy
}

fn by_night(seen: &Observation, record: &Record) -> (Record, Act) {
    next_with(seen, record, &Ok(night()))
}

/// The same, within the hours; they end in `left` seconds.
fn in_the_hours(left: u64, seen: Observation) -> Observation {
    seen.with(|seen| seen.turn.wall = WALL + TO_THE_HOURS + 8 * 3600 - left)
}

fn waits_for(record: &Record) -> Option<String> {
    let waits = record.upgrade.as_ref().unwrap().waits.clone();
    waits.map(|why| why.to_string())
}

#[test]
fn request_outside_the_window_waits_and_says_when_it_opens() {
    let (record, act) = by_night(&asked(), &Record::default());
    assert_eq!(phase_of(&record), Phase::Accepted);
    let soon = asked().turn.now.plus_seconds(3600);
    assert_eq!(act, Act::Wait(Some(soon)), "the clock may be put right");
    let said = "waiting for the maintenance window: it opens Fri 22:00 UTC. No action is needed, unless the window is too short, or its time zone or the time is unknown.";
    assert_eq!(waits_for(&record).as_deref(), Some(said));
    let report = report(&Ok(record), &asked(), None).unwrap();
    assert_eq!(report.status.reason.as_deref(), Some(said));
}

#[test]
fn a_bad_request_is_refused_at_once_whatever_the_hour() {
    let seen = quiet().with(|seen| seen.node.request = Asked::This(raw("nothing")));
    let (record, _) = by_night(&seen, &Record::default());
    assert!(record.refused.is_some());
}

#[test]
fn upgrade_proceeds_in_the_window_and_drops_the_wait_message() {
    let (waiting, _) = by_night(&asked(), &Record::default());
    let (record, act) = by_night(&in_the_hours(3600, asked()), &waiting);
    assert_eq!((begun(&act), waits_for(&record)), (Some("Fetch"), None));
}

#[test]
fn a_wait_for_hours_that_are_near_ends_with_their_first_second() {
    let seen = asked().with(|seen| seen.turn.wall = WALL + TO_THE_HOURS - 90);
    let (_, act) = by_night(&seen, &Record::default());
    assert_eq!(act, Act::Wait(Some(seen.turn.now.plus_seconds(90))));
}

#[test]
fn nothing_of_what_leads_to_the_arming_is_begun_outside() {
    for phase in phases().into_iter().filter(Phase::can_be_withdrawn) {
        let seen = asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments);
        let (_, act) = by_night(&seen, &upgrade_in(phase.clone()));
        // A node that was drained before the hours ended goes back to its users.
        let back = (phase == Phase::Drained).then_some("Release");
        assert_eq!(begun(&act), back, "{phase:?}");
    }
}

#[test]
fn fetch_outside_permits_only_fetch_verify_and_rehearse() {
    let mut policy = night();
    policy.window.fetch_outside = true;
    let step = |phase| {
        let decided = next_with(&asked(), &upgrade_in(phase), &Ok(policy.clone()));
        begun(&decided.1)
    };
    assert_eq!(step(Phase::Accepted), Some("Fetch"));
    assert_eq!(step(Phase::Fetched), Some("Verify"));
    assert_eq!(step(Phase::Verified), Some("Rehearse"));
    let mut rehearsed = upgrade_in(Phase::Verified);
    rehearsed.upgrade.as_mut().unwrap().rehearsal = record::Rehearsal::Held { blocked: None };
    let decided = next_with(&asked(), &rehearsed, &Ok(policy.clone()));
    assert_eq!(begun(&decided.1), None, "the disk is changed");
    assert_eq!(step(Phase::Deployed), None);
}

#[test]
fn what_is_armed_goes_on_to_its_end() {
    let armed = asked().with(|seen| {
        seen.machine.one_shot = OneShot::Set;
        seen.turn.finished = just_armed();
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let decided = by_night(&armed, &upgrade_in(Phase::Armed { boot: boot(1) }));
    assert_eq!(begun(&decided.1), Some("Reboot"));
    let well = on_trial().with(|seen| seen.turn.health = healthy());
    let decided = by_night(&well, &upgrade_in(Phase::Trial { boot: boot(2) }));
    assert_eq!(begun(&decided.1), Some("Bless"));
}

#[test]
fn second_trial_waits_for_the_window_with_the_node_released() {
    let back = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let (record, act) = by_night(&back, &upgrade_in(Phase::Trial { boot: boot(2) }));
    assert_eq!(begun(&act), Some("Release"));
    let released = back
        .with(|seen| seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain)));
    let (record, act) = by_night(&released, &record);
    assert_eq!((phase_of(&record), begun(&act)), (Phase::Deployed, None));
    let (_, act) = by_night(&in_the_hours(3600, asked()), &record);
    assert_eq!(begun(&act), Some("Drain"), "drained once more");
}

#[test]
fn a_drain_is_stopped_by_the_end_of_the_hours_and_looks_for_it() {
    let draining = asked().with(|seen| seen.turn.running = Some(drain()));
    let record = upgrade_in(Phase::Deployed);
    let (_, act) = by_night(&in_the_hours(60, draining.clone()), &record);
    assert_eq!(act, Act::Wait(Some(draining.turn.now.plus_seconds(60))));
    assert_eq!(by_night(&draining, &record).1, Act::Cancel);
}

#[test]
fn window_end_cancels_a_running_snapshot_and_releases_the_node() {
    let record = upgrade_in(Phase::Drained);
    let saving = asked().with(|seen| seen.turn.running = Some(Step::Snapshot));
    assert_eq!(by_night(&saving, &record).1, Act::Cancel);
    let stopped =
        asked().with(|seen| seen.turn.finished = finished(Step::Snapshot, Outcome::Cancelled));
    let (record, act) = by_night(&stopped, &record);
    assert_eq!(begun(&act), Some("Release"));
    assert!(!record.upgrade.unwrap().attempt.saved, "there is none");
}

#[test]
fn a_fetch_that_runs_when_the_hours_end_comes_to_its_end() {
    let target = "ostree:careen:os".parse().unwrap();
    let fetching = asked().with(|seen| seen.turn.running = Some(Step::Fetch { target }));
    let (_, act) = by_night(&fetching, &upgrade_in(Phase::Accepted));
    assert_eq!(act, Act::Wait(None));
}

#[test]
fn drain_cancelled_by_the_window_restarts_with_its_full_time() {
    let early = in_the_hours(60, asked());
    let (record, act) = by_night(&early, &upgrade_in(Phase::Deployed));
    assert_eq!(act, Act::Begin(drain()));
    let stopped = asked().with(|seen| seen.turn.finished = finished(drain(), Outcome::Cancelled));
    let (record, act) = by_night(&stopped, &record);
    assert_eq!(begun(&act), Some("Release"));
    let released = asked()
        .with(|seen| seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain)));
    let (record, _) = by_night(&released, &record);
    let much_later = in_the_hours(3600, asked())
        .with(|seen| seen.turn.now = asked().turn.now.plus_seconds(50_000));
    let (_, act) = by_night(&much_later, &record);
    assert_eq!(act, Act::Begin(drain()));
}

#[test]
fn released_node_runs_pre_hooks_again_in_the_next_window() {
    let hooks = Hooks {
        pre: true,
        post: false,
    };
    let mut record = upgrade_in(Phase::Deployed);
    let up = record.upgrade.as_mut().unwrap();
    up.custody = taken(|taken| (taken.hooks_due, taken.prepared) = (true, true));
    let given_back = asked().with(|seen| {
        seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain));
        seen.machine.hooks = hooks;
    });
    let (record, _) = by_night(&given_back, &record);
    let next_night = asked().with(|seen| seen.machine.hooks = hooks);
    let (_, act) = by_night(&in_the_hours(3600, next_night), &record);
    assert_eq!(act, Act::Begin(Step::PreHooks));
}

#[test]
fn way_back_that_is_cut_short_runs_the_pre_hooks_again() {
    let mut record = upgrade_in(Phase::Deployed);
    let up = record.upgrade.as_mut().unwrap();
    up.custody = taken(|taken| (taken.hooks_due, taken.prepared) = (true, true));
    let (record, act) = by_night(&with_hooks(asked()), &record);
    assert_eq!(begun(&act), Some("PostHooks"));
    // The agent is killed, and the hours are open when it is back.
    let (record, act) = by_night(&in_the_hours(3600, with_hooks(asked())), &record);
    assert_eq!(begun(&act), Some("PreHooks"));
    assert!(record.upgrade.unwrap().custody.hooks_due());
}

#[test]
fn release_that_is_cut_short_excludes_the_node_again() {
    let mut record = upgrade_in(Phase::Deployed);
    let up = record.upgrade.as_mut().unwrap();
    let excluded = Some(Moment {
        boot: asked().turn.boot,
        at: asked().turn.now,
    });
    up.custody = taken(|taken| taken.excluded = excluded);
    let (record, act) = next_with(&asked(), &record, &careful_night());
    assert_eq!(begun(&act), Some("Release"));
    let (_, act) = next_with(&in_the_hours(3600, asked()), &record, &careful_night());
    assert_eq!(begun(&act), Some("Exclude"));
}

/// A night in which load balancers are told, on a node with hooks.
fn careful_night() -> PolicyRead {
    let mut policy = night();
    policy.load_balancer.exclude = true;
    policy.load_balancer.wait_seconds = 0;
    Ok(policy)
}

fn with_hooks(seen: Observation) -> Observation {
    let hooks = Hooks {
        pre: true,
        post: true,
    };
    seen.with(|seen| seen.machine.hooks = hooks)
}

/// The record as an agent leaves it that is killed in this step of those that take the node: its
/// outcome is not known, its effect may be there.
fn killed_in(step: &str) -> Record {
    let within = with_hooks(in_the_hours(3600, asked()));
    let mut now = (within.clone(), upgrade_in(Phase::Deployed));
    loop {
        let (record, act) = next_with(&now.0, &now.1, &careful_night());
        match act {
            Act::Begin(begun) if begun.name() != step => {
                let finished = finished(begun, Outcome::Done(Effect::Plain));
                let seen = within.clone().with(|seen| seen.turn.finished = finished);
                now = (seen, record);
            }
            Act::Begin(_) => return record,
            other => panic!("{other:?} before {step}"),
        }
    }
}

#[test]
fn window_end_after_an_agent_kill_runs_post_hooks_and_releases() {
    let outside = with_hooks(asked());
    for step in ["PreHooks", "Exclude", "Drain"] {
        let mut record = killed_in(step);
        let mut seen = outside.clone();
        let mut way_back = Vec::new();
        while let (next, Act::Begin(step)) = next_with(&seen, &record, &careful_night()) {
            way_back.push(step.name());
            record = next;
            seen.turn.finished = finished(step, Outcome::Done(Effect::Plain));
        }
        assert_eq!(way_back, ["PostHooks", "Release"], "killed in {step}");
    }
}

#[test]
fn what_an_agent_that_knew_no_better_left_is_given_back_too() {
    let mut left = serde_json::to_value(killed_in("Drain")).unwrap();
    assert_eq!(left["upgrade"]["taken"].take(), true);
    left["upgrade"].as_object_mut().unwrap().remove("taken");
    let record: Record = serde_json::from_value(left).unwrap();
    let (_, act) = next_with(&asked(), &record, &careful_night());
    assert_eq!(begun(&act), Some("Release"));
}

#[test]
fn a_wait_within_the_hours_is_cut_short_by_their_end() {
    let mut record = upgrade_in(Phase::Drained);
    let up = record.upgrade.as_mut().unwrap();
    up.attempt.given_up = Some(Reason::ApiAwayInTrial {
        seconds: 1500,
        seen: String::new(),
    });
    let away = asked().with(|seen| {
        seen.node.api = Api::Away;
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let (_, act) = by_night(&in_the_hours(60, away.clone()), &record);
    assert_eq!(act, Act::Wait(Some(away.turn.now.plus_seconds(60))));
}

#[test]
fn a_request_that_waits_can_be_taken_back() {
    let (waiting, _) = by_night(&asked(), &Record::default());
    let (record, _) = by_night(&quiet(), &waiting);
    let reason = Reason::Withdrawn { replaced_by: None };
    assert_eq!(phase_of(&record), Phase::Reverting { reason });
    assert_eq!(waits_for(&record), None);
}

#[test]
fn broken_policy_keeps_the_last_window_for_a_running_upgrade() {
    let broken = Broken {
        reason: Reason::Withdrawn { replaced_by: None },
        last: Box::new(night()),
    };
    let (_, act) = next_with(&asked(), &upgrade_in(Phase::Deployed), &Err(broken));
    assert_eq!(begun(&act), None);
}

/// As an agent has it that goes on with an upgrade in a system without the operator's zone.
#[test]
fn unknown_time_zone_blocks_new_steps_and_the_wait_says_why() {
    let mut policy = night();
    policy.window.zone = "Europe/Berlin".parse().unwrap();
    let broken = Broken {
        reason: Reason::Withdrawn { replaced_by: None },
        last: Box::new(policy),
    };
    for seen in [asked(), in_the_hours(3600, asked())] {
        let read = Err(broken.clone());
        let (record, act) = next_with(&seen, &upgrade_in(Phase::Deployed), &read);
        let soon = seen.turn.now.plus_seconds(3600);
        assert_eq!(act, Act::Wait(Some(soon)), "somebody may fix the policy");
        let said = waits_for(&record).unwrap();
        for part in ["does not have Europe/Berlin", "zone in [window]", "\"UTC\""] {
            assert!(said.contains(part), "{said}");
        }
    }
}

#[test]
fn window_end_releases_a_node_held_by_a_pause() {
    let paused = |seen: Observation| {
        seen.with(|seen| {
            seen.node.paused = Some("an audit".into());
            seen.machine.deployments = on_trial().machine.deployments;
        })
    };
    let within = paused(in_the_hours(90, asked()));
    let (held, act) = by_night(&within, &upgrade_in(Phase::Drained));
    assert_eq!(act, Act::Wait(Some(within.turn.now.plus_seconds(90))));
    assert_eq!(phase_of(&held), Phase::Drained);
    let (_, act) = by_night(&paused(asked()), &held);
    assert_eq!(begun(&act), Some("Release"));
}

#[test]
fn window_that_reopens_during_a_release_runs_pre_hooks_first() {
    let hooks = Hooks {
        pre: true,
        post: true,
    };
    // An API server that is away for longer than a new agent waits for it: the cordon cannot be
    // taken off.
    let away = asked().with(|seen| {
        seen.node.api = Api::Away;
        seen.machine.hooks = hooks;
        seen.machine.deployments = on_trial().machine.deployments;
        seen.turn.now = SinceBoot(3_600_000);
    });
    let mut drained = upgrade_in(Phase::Drained);
    let up = drained.upgrade.as_mut().unwrap();
    up.custody = taken(|taken| (taken.hooks_due, taken.prepared) = (true, true));
    let (record, act) = by_night(&away, &drained);
    assert_eq!(begun(&act), Some("PostHooks"));
    let over = away.clone().with(|seen| {
        seen.turn.finished = finished(
            Step::PostHooks { upgraded: false },
            Outcome::Done(Effect::Plain),
        )
    });
    let (record, act) = by_night(&over, &record);
    assert_eq!(begun(&act), None, "nobody can be told to uncordon it");
    let (record, act) = by_night(&in_the_hours(7200, away), &record);
    assert_eq!(
        begun(&act),
        Some("PreHooks"),
        "they say whether it may be taken"
    );
    assert!(
        record.upgrade.unwrap().custody.hooks_due(),
        "and are undone in the end"
    );
}

#[test]
fn late_cordon_is_lifted_while_waiting_for_the_window() {
    let late = asked().with(|seen| {
        seen.node.own_cordon = true;
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let (record, act) = by_night(&late, &upgrade_in(Phase::Deployed));
    assert_eq!(begun(&act), Some("Release"));
    let seen = late
        .with(|seen| seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain)));
    let (record, act) = by_night(&seen, &record);
    let again = seen.turn.now.plus_seconds(60);
    assert_eq!(
        act,
        Act::Wait(Some(again)),
        "the Node may be seen as it was"
    );
    let taken_off = seen.with(|seen| {
        seen.node.own_cordon = false;
        seen.turn.finished = None;
    });
    let (record, act) = by_night(&taken_off, &record);
    assert_eq!(begun(&act), None);
    let open = in_the_hours(7200, taken_off);
    assert_eq!(begun(&by_night(&open, &record).1), Some("Drain"));
}

/// Within the hours by a clock that no time service has set in this boot.
fn by_the_battery() -> Observation {
    in_the_hours(3600, asked()).with(|seen| seen.turn.clock_set = false)
}

#[test]
fn hours_of_a_clock_nobody_has_set_begin_nothing() {
    let (record, act) = by_night(&by_the_battery(), &Record::default());
    assert_eq!(phase_of(&record), Phase::Accepted);
    assert_eq!(act, Act::Wait(Some(asked().turn.now.plus_seconds(10))));
    let said = waits_for(&record).unwrap();
    assert!(
        said.contains("no time service has set") && said.contains("trust-clock"),
        "{said}"
    );
    let set = by_the_battery().with(|seen| seen.turn.clock_set = true);
    let (_, act) = by_night(&set, &record);
    assert_eq!(begun(&act), Some("Fetch"));
}

#[test]
fn clock_matters_only_where_hours_do_and_can_be_trusted() {
    let (_, act) = next(&by_the_battery(), &Record::default());
    assert_eq!(begun(&act), Some("Fetch"), "no hours");
    let mut policy = night();
    policy.window.trust_clock = true;
    let (_, act) = next_with(&by_the_battery(), &Record::default(), &Ok(policy));
    assert_eq!(begun(&act), Some("Fetch"));
    let mut policy = night();
    policy.window.fetch_outside = true;
    let (_, act) = next_with(&by_the_battery(), &Record::default(), &Ok(policy));
    assert_eq!(begun(&act), Some("Fetch"), "nobody on the node notices it");
}

#[test]
fn node_that_is_taken_is_given_back_only_if_no_clock_comes() {
    let mut record = upgrade_in(Phase::Drained);
    record.upgrade.as_mut().unwrap().custody = taken(|_| ());
    let early = by_the_battery().with(|seen| seen.turn.now = SinceBoot(30_000));
    let (_, act) = by_night(&early, &record);
    assert_eq!(
        act,
        Act::Wait(Some(SinceBoot(40_000))),
        "a time service comes soon"
    );
    let late = by_the_battery().with(|seen| seen.turn.now = SinceBoot(200_000));
    let (_, act) = by_night(&late, &record);
    assert_eq!(begun(&act), Some("Release"));
}
