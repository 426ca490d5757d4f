//! What a careful operator sets: hooks, load balancers, the soak, nodes that are left out.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

const BOTH: Hooks = Hooks {
    pre: true,
    post: true,
};

fn with_hooks() -> Observation {
    asked().with(|seen| {
        seen.machine.hooks = BOTH;
        seen.machine.deployments = on_trial().machine.deployments;
    })
}

fn ended(step: Step, outcome: Outcome, seen: &Observation) -> Observation {
    seen.clone()
        .with(|seen| seen.turn.finished = finished(step, outcome))
}

fn done(step: Step, seen: &Observation) -> Observation {
    ended(step, Outcome::Done(Effect::Plain), seen)
}

fn hook_failed() -> Outcome {
    Outcome::Failed(Reason::HookFailed {
        hook: "10-battery".into(),
        detail: "battery at 20 %".into(),
    })
}

#[test]
fn pre_hooks_come_before_the_node_is_taken_from_its_users() {
    let (record, act) = next(&with_hooks(), &upgrade_in(Phase::Deployed));
    assert_eq!(act, Act::Begin(Step::PreHooks));
    let (_, act) = next(&done(Step::PreHooks, &with_hooks()), &record);
    assert_eq!(begun(&act), Some("Drain"));
}

#[test]
fn without_hooks_none_are_run() {
    let seen = with_hooks().with(|seen| seen.machine.hooks = Hooks::default());
    assert_eq!(
        next(&seen, &upgrade_in(Phase::Deployed)).1,
        Act::Begin(drain())
    );
    let seen = new_runs().with(|seen| seen.machine.hooks = Hooks::default());
    assert_eq!(begun(&next(&seen, &blessed()).1), Some("Release"));
}

#[test]
fn failing_pre_hook_is_retried_and_fails_the_upgrade_undrained() {
    let mut record = upgrade_in(Phase::Deployed);
    let mut seen = with_hooks();
    let mut steps = Vec::new();
    while !phase_of(&record).is_end() {
        let (after, act) = next(&seen, &record);
        record = after;
        seen.turn.finished = None;
        match act {
            Act::Begin(step) => {
                steps.push(step.name());
                let outcome = match step {
                    Step::PreHooks => hook_failed(),
                    _ => Outcome::Done(Effect::Plain),
                };
                seen.turn.finished = finished(step, outcome);
            }
            Act::Wait(Some(until)) => seen.turn.now = until,
            Act::Wait(None) | Act::Cancel => {}
        }
    }
    let tries = vec!["PreHooks"; 5];
    assert_eq!(
        steps,
        [tries, vec!["PostHooks", "Release", "Undo"]].concat()
    );
    let Phase::Failed { reason } = phase_of(&record) else {
        panic!("{record:?}");
    };
    assert_eq!(reason.code(), "HookFailed");
    assert!(record.bad.is_empty(), "the image is not to blame");
}

/// Blessed, and not given back yet.
fn blessed() -> Record {
    let mut record = upgrade_in(Phase::Blessed);
    record.upgrade.as_mut().unwrap().custody = taken(|taken| taken.hooks_due = true);
    record
}

fn new_runs() -> Observation {
    on_trial().with(|seen| {
        seen.machine.hooks = BOTH;
        seen.machine.deployments = vec![deployment('b'), deployment('a')];
    })
}

#[test]
fn post_hooks_run_before_the_release_and_receive_the_result() {
    let step = Step::PostHooks { upgraded: true };
    let (record, act) = next(&new_runs(), &blessed());
    assert_eq!(act, Act::Begin(step.clone()));
    let (_, act) = next(&done(step, &new_runs()), &record);
    assert_eq!(begun(&act), Some("Release"));
    let mut failed = upgrade_in(Phase::Reverting {
        reason: Reason::NoApiFromNewSystem {
            seen: String::new(),
        },
    });
    failed.upgrade.as_mut().unwrap().custody = taken(|taken| taken.hooks_due = true);
    let (_, act) = next(&with_hooks(), &failed);
    assert_eq!(act, Act::Begin(Step::PostHooks { upgraded: false }));
}

#[test]
fn post_hooks_that_keep_failing_keep_nobody_from_the_node() {
    let (mut record, mut seen) = (blessed(), new_runs());
    let mut tries = 0;
    let after = loop {
        let (after, act) = next(&seen, &record);
        record = after;
        match act {
            Act::Begin(step @ Step::PostHooks { .. }) => {
                tries += 1;
                seen = ended(step, hook_failed(), &seen);
            }
            Act::Wait(Some(until)) => {
                seen.turn.now = until;
                seen.turn.finished = None;
            }
            other => break other,
        }
    };
    assert_eq!((tries, begun(&after)), (5, Some("Release")));
}

#[test]
fn a_request_that_never_touched_the_users_runs_no_post_hooks() {
    let taken_back = with_hooks().with(|seen| seen.node.request = Asked::Nothing);
    let (_, act) = next(&taken_back, &upgrade_in(Phase::Verified));
    assert_eq!(begun(&act), Some("Release"));
}

fn careful() -> PolicyRead {
    let mut policy = at_once();
    policy.load_balancer.exclude = true;
    Ok(policy)
}

#[test]
fn load_balancer_exclusion_and_its_wait_precede_the_drain() {
    let seen = asked();
    let (record, act) = next_with(&seen, &upgrade_in(Phase::Deployed), &careful());
    assert_eq!(act, Act::Begin(Step::Exclude));
    let (record, act) = next_with(&done(Step::Exclude, &seen), &record, &careful());
    let later = seen.turn.now.plus_seconds(30);
    assert_eq!(act, Act::Wait(Some(later)));
    let seen = seen.with(|seen| seen.turn.now = later);
    let (_, act) = next_with(&seen, &record, &careful());
    assert_eq!(
        act,
        Act::Begin(drain()),
        "none of the drain's time is spent"
    );
}

#[test]
fn restarted_agent_waits_for_exclusion_without_excluding_again() {
    let mut record = upgrade_in(Phase::Deployed);
    let excluded = Some(Moment {
        boot: boot(1),
        at: SinceBoot(90_000),
    });
    record.upgrade.as_mut().unwrap().custody = taken(|taken| taken.excluded = excluded);
    let (_, act) = next_with(&asked(), &record, &careful());
    assert_eq!(act, Act::Wait(Some(SinceBoot(120_000))));
}

#[test]
fn withdrawal_during_the_exclusion_wait_releases_the_node() {
    let (record, _) = next_with(&asked(), &upgrade_in(Phase::Deployed), &careful());
    let (_, act) = next_with(&done(Step::Exclude, &quiet()), &record, &careful());
    assert_eq!(begun(&act), Some("Release"));
}

#[test]
fn a_skipped_drain_is_rehearsed_for_the_kubelets_settings() {
    let mut policy = at_once();
    policy.drain.skip = true;
    let decided = next_with(&asked(), &upgrade_in(Phase::Verified), &Ok(policy));
    assert_eq!(begun(&decided.1), Some("Rehearse"));
}

/// On trial and well, so many seconds after the boot.
fn well_at(seconds: u64) -> Observation {
    on_trial().with(|seen| {
        seen.turn.now = SinceBoot(seconds * 1000);
        seen.turn.health = healthy();
    })
}

fn soaking(seconds: u64) -> PolicyRead {
    let mut policy = at_once();
    policy.health.soak_seconds = seconds;
    Ok(policy)
}

fn trial() -> Record {
    upgrade_in(Phase::Trial { boot: boot(2) })
}

#[test]
fn healthy_system_soaks_before_it_is_blessed() {
    let (record, act) = next_with(&well_at(60), &trial(), &soaking(300));
    assert_eq!(act, Act::Wait(Some(SinceBoot(360_000))));
    let said = report(&Ok(record.clone()), &well_at(60), None);
    assert_eq!(said.unwrap().status.code.as_deref(), Some("Soaking"));
    let (record, act) = next_with(&well_at(359), &record, &soaking(300));
    assert_eq!(begun(&act), None);
    let (record, act) = next_with(&well_at(360), &record, &soaking(300));
    assert_eq!(begun(&act), Some("Bless"));
    assert_eq!(record.upgrade.unwrap().waits, None);
}

#[test]
fn failed_check_restarts_the_soak_and_an_unknown_one_does_not() {
    let (record, _) = next_with(&well_at(60), &trial(), &soaking(300));
    let with = |ready| {
        let mut seen = well_at(100);
        seen.turn.health.ready = ready;
        let (record, _) = next_with(&seen, &record, &soaking(300));
        next_with(&well_at(200), &record, &soaking(300)).1
    };
    let again = with(Check::Fail("not Ready".into()));
    assert_eq!(again, Act::Wait(Some(SinceBoot(500_000))));
    let goes_on = with(Check::Pending("the API server is not reached".into()));
    assert_eq!(goes_on, Act::Wait(Some(SinceBoot(360_000))));
}

#[test]
fn a_soak_beyond_the_deadline_asks_the_deadman_for_patience() {
    let (record, act) = next_with(&well_at(500), &trial(), &soaking(3600));
    assert_eq!(act, Act::Wait(Some(SinceBoot(4_100_000))));
    let read = Ok(record.clone());
    assert!(!deadman::is_due(&well_at(4_000), &read));
    assert!(deadman::is_due(&well_at(4_200), &read), "but not for ever");
    let (_, act) = next_with(&well_at(4_100), &record, &soaking(3600));
    assert_eq!(begun(&act), Some("Bless"));
}

#[test]
fn a_system_that_falls_ill_in_its_soak_is_left() {
    let (record, _) = next_with(&well_at(500), &trial(), &soaking(3600));
    let mut ill = well_at(1500);
    ill.turn.health.required = vec![("10-disk".into(), Check::Broken("no spindle".into()))];
    let (_, act) = next_with(&ill, &record, &soaking(3600));
    assert_eq!(begun(&act), Some("Reboot"));
}

#[test]
fn api_blink_or_agent_restart_does_not_interrupt_the_soak() {
    let (well, _) = next_with(&well_at(60), &trial(), &soaking(3600));
    let unknown = || Check::Pending("not looked at yet".into());
    let soak_goes_on = |blind: &dyn Fn(&mut Observation)| {
        let mut seen = well_at(2_500);
        blind(&mut seen);
        let (record, act) = next_with(&seen, &well, &soaking(3600));
        let until = SinceBoot(3_660_000);
        assert_eq!(
            (act, phase_of(&record)),
            (Act::Wait(Some(until)), phase_of(&trial()))
        );
        assert!(!deadman::is_due(&well_at(3_660), &Ok(record.clone())));
        begun(&next_with(&well_at(3_660), &record, &soaking(3600)).1)
    };
    let blinks = |seen: &mut Observation| {
        seen.node.api = Api::Away;
        (seen.turn.health.ready, seen.turn.health.version) = (unknown(), unknown());
    };
    let restarts = |seen: &mut Observation| {
        blinks(seen);
        seen.turn.health.required = vec![("10-disk".into(), unknown())];
    };
    let reconnects = |seen: &mut Observation| seen.turn.health.ready = unknown();
    for blind in [&blinks as &dyn Fn(&mut Observation), &restarts, &reconnects] {
        assert_eq!(soak_goes_on(blind), Some("Bless"));
    }
}

#[test]
fn api_outage_at_the_soak_end_is_held_and_blames_no_image() {
    let (record, _) = next_with(&well_at(60), &trial(), &soaking(3600));
    let mut away = well_at(3_700);
    away.node.api = Api::Away;
    away.turn.health.ready = Check::Pending("the API server is not reached".into());
    let (record, act) = next_with(&away, &record, &soaking(3600));
    let hold = at_once().health.api_away_hold_seconds;
    let over = SinceBoot(3_660_000).plus_seconds(hold);
    assert_eq!(act, Act::Wait(Some(over)));
    let later = away.with(|seen| seen.turn.now = over);
    let (record, act) = next_with(&later, &record, &soaking(3600));
    let given_up = record.upgrade.unwrap().attempt.given_up.unwrap();
    assert_eq!(
        (begun(&act), given_up.code().as_str()),
        (Some("Reboot"), "ApiAwayInTrial")
    );
}

#[test]
fn request_can_lengthen_the_soak_but_not_shorten_it() {
    let until = |asked: &str| {
        let mut record = trial();
        record.upgrade.as_mut().unwrap().request.soak = Some(asked.into());
        next_with(&well_at(60), &record, &soaking(300)).1
    };
    assert_eq!(until("600"), Act::Wait(Some(SinceBoot(660_000))));
    assert_eq!(until("0"), Act::Wait(Some(SinceBoot(360_000))));
}

#[test]
fn a_soak_that_is_no_number_of_seconds_is_refused() {
    for soak in ["", "-1", "5m", "86401"] {
        let request = RawRequest {
            soak: Some(soak.into()),
            ..pinned('b')
        };
        let refused = request.parse().unwrap_err().to_string();
        assert!(refused.contains("careen.dev/soak-seconds"), "{refused}");
        assert!(refused.contains("0 to 86400"), "{refused}");
    }
}

fn refused(seen: &Observation, policy: &Policy) -> String {
    let (record, act) = next_with(seen, &Record::default(), &Ok(policy.clone()));
    assert_eq!((record.upgrade, begun(&act)), (None, None));
    record.refused.unwrap().reason.to_string()
}

#[test]
fn a_node_that_is_left_out_refuses_and_says_who_wants_it_so() {
    let on_the_node = asked().with(|seen| seen.node.opted_out = Some("holds the only GPU".into()));
    let said = refused(&on_the_node, &at_once());
    assert!(
        said.contains("careen.dev/opt-out says \"holds the only GPU\""),
        "{said}"
    );
    let in_the_file = Policy {
        opt_out: "bench".into(),
        ..at_once()
    };
    let said = refused(&asked(), &in_the_file);
    assert!(
        said.contains("the policy's opt-out says \"bench\""),
        "{said}"
    );
}

#[test]
fn opted_out_node_answers_for_its_image_and_ends_its_upgrade() {
    let runs_it = quiet().with(|seen| {
        seen.node.request = Asked::This(pinned('a'));
        seen.node.opted_out = Some("bench".into());
    });
    assert_eq!(
        phase_of(&next(&runs_it, &Record::default()).0),
        Phase::Upgraded
    );
    let under_way = asked().with(|seen| seen.node.opted_out = Some("bench".into()));
    let (_, act) = next(&under_way, &upgrade_in(Phase::Deployed));
    assert_eq!(begun(&act), Some("Drain"));
}
