//! What must hold of a decision, for any record.

use upgrade::window::Door;
use upgrade::{Act, Asked, Check, Health, Home, Observation, Phase, Policy, Record, Step};

/// A decision with all its inputs.
pub struct Decided<'a> {
    pub seen: &'a Observation,
    pub policy: &'a Policy,
    pub before: &'a Record,
    /// The record after the decision.
    pub after: &'a Record,
    pub act: &'a Act,
}

pub fn judge(decided: &Decided<'_>) {
    let seen = decided.seen;
    if let Act::Begin(step) = decided.act {
        assert!(
            step.at_home(seen.turn.home),
            "{step:?} in {:?}",
            seen.turn.home
        );
        outside_of_the_hours(decided, step);
    }
    match seen.turn.home {
        Home::Stage => guarded(decided),
        Home::Agent if seen.machine.on_trial() && runs_what_is_tried(decided.before, seen) => {
            tried(decided);
        }
        Home::Agent => {}
    }
}

/// On a visible, paused Node, no step begins that leads to a trial.
pub fn while_paused(seen: &Observation, act: &Act) {
    if let (Act::Begin(step), false) = (act, seen.node.request == Asked::Unknown) {
        assert!(!leads_to_a_trial(step), "{step:?} while paused");
    }
}

/// No such step begins outside the operator's hours either.
fn outside_of_the_hours(decided: &Decided<'_>, step: &Step) {
    let door = decided.policy.window.at(decided.seen.turn.wall);
    let closed = matches!(door, Door::Closed { .. }) && decided.seen.turn.home == Home::Agent;
    assert!(!(closed && leads_to_a_trial(step)), "{step:?} while closed");
}

const fn leads_to_a_trial(step: &Step) -> bool {
    matches!(
        step,
        Step::Fetch { .. }
            | Step::Verify { .. }
            | Step::Rehearse
            | Step::Deploy { .. }
            | Step::PreHooks
            | Step::Exclude
            | Step::Drain { .. }
            | Step::Snapshot
    )
}

/// No damaged system passes the guard on a trial.
fn guarded(decided: &Decided<'_>) {
    let whole = matches!(decided.seen.machine.integrity, Some(Ok(())));
    let passes = *decided.act == Act::Begin(Step::Pass);
    assert!(whole || !passes || !decided.seen.machine.trial);
}

fn runs_what_is_tried(record: &Record, seen: &Observation) -> bool {
    let to = record.upgrade.as_ref().and_then(|up| up.to.as_ref());
    to.is_some_and(|to| to.same(&seen.machine.booted))
}

/// A trial under way prepares and arms no other trial. It ends, and only its health leads to a
/// blessing.
fn tried(decided: &Decided<'_>) {
    let phase = decided.after.upgrade.as_ref().map(|up| &up.phase);
    match decided.act {
        Act::Begin(Step::Bless { .. }) => blessed(decided),
        Act::Begin(step) => {
            let arms = matches!(step, Step::Arm { .. });
            assert!(!arms && !leads_to_a_trial(step), "{step:?} on trial");
        }
        // A proven system continues to serve, for any default.
        Act::Wait(None) => {
            let proven = matches!(phase, Some(Phase::Blessed | Phase::Upgraded));
            assert!(proven, "{phase:?} waits on trial for nothing");
        }
        Act::Wait(Some(_)) => {}
        Act::Cancel => unreachable!("nothing runs"),
    }
}

/// The verdict in this boot was healthy: earlier, or now and then for as long as the operator
/// requires.
fn blessed(decided: &Decided<'_>) {
    let (seen, up) = (decided.seen, decided.before.upgrade.as_ref());
    let default = seen.machine.deployments.first();
    assert!(up.is_some_and(|up| default.is_some_and(|one| one.same(&up.from))));
    let here = Phase::Healthy {
        boot: seen.turn.boot.clone(),
    };
    if up.is_some_and(|up| up.phase == here) {
        return;
    }
    assert!(is_well(&seen.turn.health), "{:?}", seen.turn.health);
    let health = &decided.policy.health;
    let soak = health.soak_seconds.max(health.steady_seconds);
    let since = up.and_then(|up| up.attempt.well_since.as_ref());
    let since = since.filter(|since| since.boot == seen.turn.boot);
    let soaked = since.is_some_and(|since| since.at.plus_seconds(soak) <= seen.turn.now);
    assert!(soak == 0 || soaked, "blessed without its soak");
}

fn is_well(health: &Health) -> bool {
    let own = [
        &health.runtime,
        &health.kubelet,
        &health.sandbox,
        &health.kubeadm,
        &health.ready,
        &health.version,
        &health.pod_network,
    ];
    let users = health.required.iter().map(|(_, check)| check);
    own.into_iter()
        .chain(users)
        .all(|check| *check == Check::Pass)
}
