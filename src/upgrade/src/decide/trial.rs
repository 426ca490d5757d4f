//! The new system on trial: judge it, and act on the verdict.

use super::change::{Change, Move};
use super::decision::Act;
use super::hold::{hold, hold_for_a_look};
use super::judge::{Judgement, SoFar, judge};
use super::reinstate::{self, told};
use super::serving::{Compared, compared};
use super::situation::Situation;
use super::soak::{self, Soak};
use super::{alone, control, rollback, unreached};
use crate::id::{Moment, SinceBoot};
use crate::names::KUBELET_CONF;
use crate::observe::{Cause, Check};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;

/// How long a healthy system may take to become the default, in seconds: three tries of a quarter
/// of an hour, and the pauses between them. After that the deadman ends the trial, since an agent
/// that cannot go on must not keep the node.
const BLESSING: u64 = 3600;

/// On trial.
pub(super) fn trial(up: &Upgrade, s: &Situation<'_>) -> Move {
    if is_unguarded(up, s) {
        let note = Change::GiveUpTrial(Reason::UnguardedBoot);
        return rollback::leave(up, s).after([note]);
    }
    if up.attempt.given_up.is_some() {
        return rollback::leave(up, s);
    }
    if s.has_left(up) {
        let note = Change::GiveUpTrial(left(s));
        return rollback::leave(up, s).after([note]);
    }
    let notes = reinstate::note(up, s)
        .into_iter()
        .chain(unreached::reached(up, s));
    let broken = [Change::WellSince(None), Change::Waits(None)];
    let broken = soak::is_disturbed(up, s).then_some(broken);
    judged(up, s)
        .after(broken.into_iter().flatten())
        .after(notes)
}

/// The image has not shown that it lets a node serve, and it is not known who removed the credential.
fn left(s: &Situation<'_>) -> Reason {
    Reason::Unhealthy {
        check: "credential".to_owned(),
        detail: format!("{KUBELET_CONF} is gone, so the node has left its cluster"),
        seconds: s.seen.turn.now.0 / 1000,
        cause: Cause::Node,
    }
}

/// Whether this boot bypassed the guard.
fn is_unguarded(up: &Upgrade, s: &Situation<'_>) -> bool {
    let boot = s.seen.turn.boot.clone();
    let guarded = up.attempt.guarded.as_ref() == Some(&boot) || s.policy.unguarded;
    !s.seen.machine.trial || !guarded || up.phase != Phase::Trial { boot }
}

fn judged(up: &Upgrade, s: &Situation<'_>) -> Move {
    let well_since = soak::well_since(up, s);
    let compared = compared(up, s);
    match judge(
        s.seen,
        s.policy,
        so_far(up, well_since.as_ref(), s),
        &compared,
    ) {
        Judgement::Healthy => well(up, well_since.as_ref(), &compared, s),
        Judgement::Wait { until, hold } => wait(up, s, until, hold),
        Judgement::ApiAway { again } => match unreached::verdict(up, again, s) {
            Some(reason) => bad(up, reason, s),
            None => rollback::leave(up, s).after(unreached::notes(up, s)),
        },
        Judgement::Bad(reason) => bad(up, reason, s),
    }
}

/// What the record says of this boot.
fn so_far(up: &Upgrade, well_since: Option<&Moment>, s: &Situation<'_>) -> SoFar {
    let hold = up.attempt.hold.as_ref();
    SoFar {
        held: hold.is_some_and(|until| until.boot == s.seen.turn.boot),
        soaks_until: soak::until(up, well_since, s),
        alone: alone::is_enough(up, s),
    }
}

/// All checks pass. Where a soak is asked for, the system is watched until it is over.
fn well(up: &Upgrade, well_since: Option<&Moment>, compared: &Compared, s: &Situation<'_>) -> Move {
    match soak::soak(up, well_since, s) {
        None => blessable(up, compared, s),
        Some(soak) if s.seen.turn.now < soak.until => soaking(up, &soak, s),
        Some(soak) => {
            let over = [Change::WellSince(Some(soak.since)), Change::Waits(None)];
            blessable(up, compared, s).after(over)
        }
    }
}

/// A control plane is looked at once more. The deadman waits for that as well.
fn blessable(up: &Upgrade, compared: &Compared, s: &Situation<'_>) -> Move {
    let deadline = SinceBoot(0).plus_seconds(s.policy.health.deadline_seconds);
    match control::before_the_blessing(up, deadline, s) {
        None => healthy(compared, s),
        Some(first) => first.after([hold_for_a_look(s)]),
    }
}

fn soaking(up: &Upgrade, soak: &Soak, s: &Situation<'_>) -> Move {
    let usual = SinceBoot(0).plus_seconds(s.policy.health.deadline_seconds);
    let seconds = soak.seconds;
    let told = soak.is_asked.then_some(Reason::Soaking { seconds });
    wait(up, s, soak.until, soak.until > usual).after([
        Change::WellSince(Some(soak.since.clone())),
        Change::Waits(told),
    ])
}

fn healthy(compared: &Compared, s: &Situation<'_>) -> Move {
    let boot = s.seen.turn.boot.clone();
    let kubeadm = if s.seen.turn.health.kubeadm == Check::Pass {
        Change::Configured(boot.clone())
    } else {
        Change::KubeadmDue
    };
    Move::look([
        Change::Phase(Phase::Healthy { boot }),
        kubeadm,
        Change::Differs(compared.warned.clone()),
        hold(s, s.seen.turn.now.plus_seconds(BLESSING)),
    ])
}

/// A bad verdict. What held up the trial holds up no way out of it.
fn bad(up: &Upgrade, reason: Reason, s: &Situation<'_>) -> Move {
    let reason = told(reason, reinstate::is_moved(up, s));
    Move::look([
        Change::Retry(None),
        Change::Phase(Phase::Reverting { reason }),
    ])
}

fn wait(up: &Upgrade, s: &Situation<'_>, until: SinceBoot, holds: bool) -> Move {
    let act = match s.seen.turn.health.kubeadm {
        Check::Fail(_) if s.reached => match s.backoff(up) {
            // The pause before kubeadm's next try must not carry the trial past its deadline.
            Some(Act::Wait(again)) => Act::Wait(Some(again.map_or(until, |at| at.min(until)))),
            Some(act) => act,
            None => Act::Begin(Step::Kubeadm),
        },
        Check::Fail(_) | Check::Pass | Check::Pending(_) | Check::Broken(_) => {
            Act::Wait(Some(until))
        }
    };
    Move::act(act).after(holds.then(|| hold(s, until)))
}

/// kubeadm may hang: it must not carry the trial past its deadline, or the deadman ends the trial
/// and nobody learns why.
pub(super) fn while_kubeadm(up: &Upgrade, s: &Situation<'_>) -> Move {
    if up.phase == Phase::Blessed {
        // After the verdict there is no deadline, and kubeadm ends by itself.
        return Move::wait();
    }
    let well_since = up.attempt.well_since.as_ref();
    match judge(
        s.seen,
        s.policy,
        so_far(up, well_since, s),
        &compared(up, s),
    ) {
        Judgement::Wait { until, hold: holds } => {
            Move::act(Act::Wait(Some(until))).after(holds.then(|| hold(s, until)))
        }
        Judgement::Healthy => Move::wait(),
        Judgement::ApiAway { .. } | Judgement::Bad(_) => Move::act(Act::Cancel),
    }
}
