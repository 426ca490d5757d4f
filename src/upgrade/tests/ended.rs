//! What an upgrade that has come to its end leaves to do: its cordon, its word to load balancers,
//! and a trial that is not under way any more.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::report::Lifecycle;
use upgrade::*;

/// Drained, then halted: somebody had made a system of their own the default.
fn halted() -> Record {
    let default = digest('d').short().to_owned();
    let mut record = upgrade_in(Phase::Halted {
        reason: Reason::ForeignDefault { default },
    });
    record.spent = Some(pinned('b'));
    record.upgrade.as_mut().unwrap().closed = true;
    record
}

/// That system runs by now, and `image` is asked for.
fn asks_for(image: char) -> Observation {
    quiet().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.booted = deployment('d');
        seen.machine.deployments = vec![deployment('d'), deployment('a'), deployment('b')];
        seen.node.request = Asked::This(pinned(image));
    })
}

fn api_away(seen: Observation) -> Observation {
    seen.with(|seen| seen.node.api = Api::Away)
}

#[test]
fn halted_upgrade_keeps_its_cordon_until_a_new_request() {
    let (record, act) = next(&asks_for('b'), &halted());
    assert_eq!(act, Act::Wait(None), "a person must look first");
    // Else the next upgrade takes it for a foreign one and leaves it behind at its end.
    let mut seen = asks_for('c');
    let (record, act) = next(&seen, &record);
    assert_eq!(act, Act::Begin(Step::Release));
    seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain));
    let (record, act) = next(&seen, &record);
    assert_eq!(begun(&act), Some("Fetch"));
    assert!(
        record.upgrade.unwrap().custody.taken().is_none(),
        "it will have its own"
    );
}

#[test]
fn uncordoning_a_halted_node_runs_post_hooks_and_releases_it() {
    let mut record = halted();
    let up = record.upgrade.as_mut().unwrap();
    up.custody = taken(|taken| taken.hooks_due = true);
    let mut seen = asks_for('b');
    assert_eq!(next(&seen, &record).1, Act::Wait(None), "nobody has yet");
    seen.node.uncordoned = true;
    seen.machine.hooks.post = true;
    let (record, act) = next(&seen, &record);
    assert_eq!(begun(&act), Some("PostHooks"));
    seen.turn.finished = finished(
        Step::PostHooks { upgraded: false },
        Outcome::Done(Effect::Plain),
    );
    let (record, act) = next(&seen, &record);
    assert_eq!(begun(&act), Some("Release"));
    seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain));
    let (record, act) = next(&seen, &record);
    assert_eq!(act, Act::Wait(None));
    assert_eq!(phase_of(&record), phase_of(&halted()), "the answer stays");
    assert!(record.upgrade.unwrap().custody.is_given_back());
}

#[test]
fn a_refusal_hides_no_halted_node() {
    let mut seen = asks_for('c');
    seen.machine.control_plane = Some(control_plane());
    let (record, _) = next(&seen, &halted());
    let said = report(&Ok(record), &seen, None).unwrap();
    assert_eq!(said.status.phase, "Halted", "a person is needed as before");
    assert_eq!(
        said.status.code.as_deref(),
        Some("ControlPlane"),
        "the answer is the request's"
    );
    let sentence = said.status.reason.unwrap();
    assert!(sentence.contains("was halted before"), "{sentence}");
    let default = digest('d').short().to_owned();
    let halt = Reason::ForeignDefault { default }.to_string();
    assert!(sentence.contains(&halt), "{sentence}");
}

#[test]
fn stuck_cordon_delays_the_next_request_without_a_hot_loop() {
    let (record, act) = next(&api_away(asks_for('c')), &halted());
    assert_eq!(act, Act::Wait(None), "its return is what wakes us");
    let refused = Outcome::Failed(Reason::ApiAway { detail: "x".into() });
    let mut seen = asks_for('c');
    seen.turn.finished = finished(Step::Release, refused);
    let (record, act) = next(&seen, &record);
    let Act::Wait(Some(due)) = act else {
        panic!("{act:?}: it spins")
    };
    (seen.turn.finished, seen.turn.now) = (None, due);
    assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
}

#[test]
fn a_request_that_is_refused_lifts_no_halted_cordon() {
    let mut seen = asks_for('c');
    seen.machine.control_plane = Some(control_plane());
    let (record, act) = next(&seen, &halted());
    assert_eq!(act, Act::Wait(None));
    assert!(record.refused.is_some());
}

/// Ended long ago and given back; by now the Node is cordoned with its mark all the same.
fn left_cordon(phase: Phase) -> (Observation, Record) {
    let mut record = upgrade_in(phase);
    record.spent = Some(pinned('b'));
    let up = record.upgrade.as_mut().unwrap();
    (up.custody, up.cleaned, up.closed) = (given_back(), true, true);
    let seen = asked().with(|seen| seen.node.own_cordon = true);
    (seen, record)
}

#[test]
fn a_cordon_of_ours_that_shows_up_behind_the_end_is_lifted() {
    let reason = Reason::Withdrawn { replaced_by: None };
    for phase in [Phase::Upgraded, Phase::Failed { reason }] {
        let (mut seen, record) = left_cordon(phase);
        assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
        // Also before the next upgrade, which would take it for somebody else's.
        seen.node.request = Asked::This(pinned('c'));
        assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
        seen.node.own_cordon = false;
        assert_eq!(begun(&next(&seen, &record).1), Some("Fetch"));
    }
}

/// As [`left_cordon`], but that load balancers leave the Node out.
fn left_exclusion(phase: Phase) -> (Observation, Record) {
    let (seen, record) = left_cordon(phase);
    let seen = seen.with(|seen| {
        seen.node.own_cordon = false;
        seen.node.own_exclusion = true;
    });
    (seen, record)
}

#[test]
fn exclusion_that_appears_after_the_upgrade_ended_is_released() {
    let reason = Reason::Withdrawn { replaced_by: None };
    for phase in [Phase::Upgraded, Phase::Failed { reason }] {
        let (mut seen, record) = left_exclusion(phase);
        assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
        assert_eq!(
            next(&api_away(seen.clone()), &record).1,
            Act::Wait(None),
            "the server's return is what wakes us"
        );
        // Also before the next upgrade, which would take it for somebody else's.
        seen.node.request = Asked::This(pinned('c'));
        assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
        seen.node.own_exclusion = false;
        assert_eq!(begun(&next(&seen, &record).1), Some("Fetch"));
    }
}

/// As [`left_cordon`], but that only our shields are left. The node was given back in this boot at
/// this second, if it was.
fn left_shields(phase: Phase, since: Option<Moment>) -> (Observation, Record) {
    let (seen, mut record) = left_cordon(phase);
    let up = record.upgrade.as_mut().unwrap();
    up.custody = up.custody.give_back(since);
    let seen = seen.with(|seen| {
        seen.node.own_cordon = false;
        seen.node.shielded = true;
    });
    (seen, record)
}

#[test]
fn shields_go_when_the_node_has_settled() {
    let settle = at_once().neighbours.settle_seconds;
    for phase in [
        Phase::Upgraded,
        Phase::Failed {
            reason: Reason::Withdrawn { replaced_by: None },
        },
    ] {
        let since = Moment {
            boot: asked().turn.boot,
            at: SinceBoot(0).plus_seconds(1000),
        };
        let settled = since.at.plus_seconds(settle);
        let (seen, record) = left_shields(phase, Some(since.clone()));
        let at = |now: SinceBoot| seen.clone().with(|seen| seen.turn.now = now);
        let early = at(since.at.plus_seconds(settle - 1));
        assert_eq!(next(&early, &record).1, Act::Wait(Some(settled)));
        assert_eq!(next(&at(settled), &record).1, Act::Begin(Step::Settle));
        let away = api_away(at(settled));
        assert_eq!(next(&away, &record).1, Act::Wait(None));
    }
}

#[test]
fn next_request_does_not_end_the_settle_time() {
    let settle = at_once().neighbours.settle_seconds;
    let since = Moment {
        boot: asked().turn.boot,
        at: SinceBoot(0).plus_seconds(1000),
    };
    let settled = since.at.plus_seconds(settle);
    let (seen, record) = left_shields(Phase::Upgraded, Some(since.clone()));
    let again = seen.with(|seen| {
        let running = seen.machine.booted.digest.clone();
        seen.node.request = Asked::This(RawRequest {
            id: Some("again".to_owned()),
            ..raw(&format!("ostree:careen:os@{running}"))
        });
        seen.turn.now = since.at.plus_seconds(5);
    });
    let (after, act) = next(&again, &record);
    let up = after.upgrade.clone().unwrap();
    assert_eq!(up.phase, Phase::Upgraded, "it runs already");
    assert_eq!(up.custody.given_back_at(), Some(&since));
    assert!(!matches!(act, Act::Begin(_)), "{act:?}");
    let later = again.with(|seen| seen.turn.now = settled);
    assert_eq!(next(&later, &after).1, Act::Begin(Step::Settle));
}

#[test]
fn reboot_restarts_the_settle_time() {
    let settle = at_once().neighbours.settle_seconds;
    let before = Moment {
        boot: boot(7),
        at: SinceBoot(0).plus_seconds(9_000),
    };
    for since in [None, Some(before)] {
        let (seen, record) = left_shields(Phase::Upgraded, since);
        let at = |now| {
            seen.clone()
                .with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(now))
        };
        let settled = SinceBoot(0).plus_seconds(settle);
        assert_eq!(next(&at(settle - 1), &record).1, Act::Wait(Some(settled)));
        assert_eq!(next(&at(settle), &record).1, Act::Begin(Step::Settle));
        let unasked = at(settle).with(|seen| seen.node.request = Asked::Nothing);
        assert_eq!(
            next(&unasked, &Record::default()).1,
            Act::Begin(Step::Settle),
            "of a lost record"
        );
    }
}

#[test]
fn shields_delay_no_request_and_stay_on_a_halted_node() {
    let (mut seen, record) = left_shields(Phase::Upgraded, None);
    seen.node.request = Asked::This(pinned('c'));
    assert_eq!(begun(&next(&seen, &record).1), Some("Fetch"));
    let mut seen = asks_for('b');
    (seen.node.shielded, seen.turn.now) = (true, SinceBoot(0).plus_seconds(1_000_000));
    assert_eq!(next(&seen, &halted()).1, Act::Wait(None));
}

#[test]
fn a_failed_settle_is_tried_again_after_a_pause() {
    let (seen, record) = left_shields(Phase::Upgraded, None);
    let refused = Reason::DrainRefused {
        detail: "no".into(),
    };
    let tried = seen.with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(5_000);
        seen.turn.finished = finished(Step::Settle, Outcome::Failed(refused));
    });
    let later = SinceBoot(0).plus_seconds(5_060);
    assert_eq!(next(&tried, &record).1, Act::Wait(Some(later)));
}

#[test]
fn halted_upgrade_keeps_the_load_balancer_exclusion() {
    let mut seen = asks_for('b');
    seen.node.own_exclusion = true;
    assert_eq!(next(&seen, &halted()).1, Act::Wait(None));
}

#[test]
fn release_with_a_stale_cordon_view_is_retried_after_a_delay() {
    for outcome in [
        Outcome::Done(Effect::Plain),
        Outcome::Failed(Reason::ApiAway { detail: "x".into() }),
    ] {
        let (mut seen, record) = left_cordon(Phase::Upgraded);
        seen.turn.finished = finished(Step::Release, outcome);
        let due = seen.turn.now.plus_seconds(60);
        let (record, act) = next(&seen, &record);
        assert_eq!(act, Act::Wait(Some(due)));
        (seen.turn.finished, seen.turn.now) = (None, due);
        assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
    }
}

#[test]
fn a_left_cordon_waits_for_an_api_server_that_is_away() {
    let (seen, record) = left_cordon(Phase::Upgraded);
    assert_eq!(next(&api_away(seen), &record).1, Act::Wait(None));
}

#[test]
fn halted_upgrade_keeps_its_cordon_until_released_once() {
    let mut seen = asks_for('b');
    seen.node.own_cordon = true;
    let mut record = halted();
    assert_eq!(
        next(&seen, &record).1,
        Act::Wait(None),
        "a person's to lift"
    );
    record.upgrade.as_mut().unwrap().custody = given_back();
    assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
}

/// A trial's reboot was just refused, and no upgrade is under way that could count it.
fn refused_reboot() -> Observation {
    let refused = Outcome::Failed(Reason::RebootRefused {
        detail: "held by apt".into(),
    });
    on_trial().with(|seen| seen.turn.finished = finished(Step::Reboot { force: false }, refused))
}

#[test]
fn refused_reboot_out_of_a_stray_trial_is_retried_after_a_delay() {
    let seen = refused_reboot();
    let due = seen.turn.now.plus_seconds(60);
    let other = seen
        .clone()
        .with(|seen| seen.machine.booted = deployment('d'));
    let unreadable: RecordRead = Err(Reason::RecordDamaged { detail: "x".into() });
    let acts = [
        next(&seen, &halted()).1,
        next(&seen, &Record::default()).1,
        next(&other, &upgrade_in(Phase::Drained)).1,
        decide(&seen, &unreadable, &Ok(at_once()))
            .commit(&mut Memory::default())
            .unwrap()
            .1,
    ];
    for act in acts {
        assert_eq!(act, Act::Wait(Some(due)));
    }
    let later = seen.with(|seen| {
        seen.turn.finished = None;
        seen.turn.now = due;
    });
    assert_eq!(begun(&next(&later, &halted()).1), Some("Reboot"));
}

/// `b` was blessed in this boot; since then somebody has made `c` the default.
fn default_changed_after_the_blessing() -> Observation {
    on_trial().with(|seen| {
        seen.machine.deployments = vec![deployment('c'), deployment('b'), deployment('a')]
    })
}

#[test]
fn proven_system_does_not_reboot_when_the_default_changes() {
    let seen = default_changed_after_the_blessing();
    let mut upgraded = upgrade_in(Phase::Upgraded);
    upgraded.spent = Some(pinned('b'));
    upgraded.upgrade.as_mut().unwrap().closed = true;
    assert_eq!(next(&seen, &upgraded).1, Act::Wait(None), "no reboot");

    let mut next_one = halted();
    next_one.upgrade.as_mut().unwrap().from = deployment('b');
    next_one.upgrade.as_mut().unwrap().to = Some(deployment('d'));
    assert_eq!(next(&seen, &next_one).1, Act::Wait(None), "nor here");
}

/// What the conditions of KEP-5683 say while this upgrade has the node.
fn of_a_taken_node(phase: &Phase, tries: u32) -> Lifecycle {
    match phase {
        Phase::Accepted | Phase::Fetched | Phase::Verified => Lifecycle::Planned,
        Phase::Deployed => Lifecycle::Draining,
        Phase::Drained
        | Phase::Armed { .. }
        | Phase::Trial { .. }
        | Phase::Healthy { .. }
        | Phase::Blessed => Lifecycle::Drained,
        Phase::Reverting { .. } | Phase::Halted { .. } if tries > 0 => Lifecycle::Drained,
        Phase::Reverting { .. } | Phase::Halted { .. } => Lifecycle::Serving,
        Phase::Upgraded | Phase::Failed { .. } => Lifecycle::Serving,
    }
}

#[test]
fn conditions_of_a_drain_are_true_only_while_the_node_is_taken() {
    let at = SinceBoot(5);
    let begun = |taken: &mut record::Taken| taken.drain_begun = Some(Moment { boot: boot(1), at });
    for (phase, tries) in phases().iter().flat_map(|phase| [(phase, 0), (phase, 1)]) {
        let told = |custody| {
            let mut record = upgrade_in(phase.clone());
            let up = record.upgrade.as_mut().unwrap();
            (up.custody, up.attempt.tries) = (custody, tries);
            report(&Ok(record), &quiet(), None).unwrap().lifecycle
        };
        let expected = of_a_taken_node(phase, tries);
        assert_eq!(told(taken(begun)), expected, "{phase:?}, {tries}");
        let free = told(given_back());
        let is_free = matches!(free, Lifecycle::Serving | Lifecycle::Planned);
        assert!(is_free, "{phase:?}, {tries}: {free:?} although given back");
        if phase.is_end() {
            assert!(free.conditions().is_empty(), "{phase:?}: {free:?}");
        }
    }
}
