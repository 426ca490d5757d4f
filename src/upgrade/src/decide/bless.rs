//! The new system has proved itself: make it the default, give the node back, clean up.

use super::change::{Change, Move};
use super::control;
use super::give_back::give_back;
use super::hold::hold;
use super::situation::Situation;
use super::{reinstate, rollback, soak};
use crate::id::SinceBoot;
use crate::phase::Phase;
use crate::record::Upgrade;
use crate::step::Step;

/// Proven in this very boot: make it the default.
pub(super) fn healthy(up: &Upgrade, s: &Situation<'_>) -> Move {
    default(up, s).after(reinstate::note(up, s))
}

fn default(up: &Upgrade, s: &Situation<'_>) -> Move {
    if s.seen.machine.runs_default() && !up.is_being_blessed() {
        // Somebody else did that, and must say whether it stays. It is well, and serves.
        return Move::wait().after([Change::GiveUp(reinstate::moved(s))]);
    }
    if s.seen.machine.runs_default() {
        // The reorder is one rename: where the new one is the default, the blessing is done.
        return Move::look([Change::Phase(Phase::Blessed)]);
    }
    if !s.seen.machine.default_is(&up.from) {
        return overruled(s);
    }
    if !is_healthy_here(up, s) {
        // Healthy in another boot proves nothing of this one (I4).
        return rollback::leave(up, s);
    }
    if soak::is_disturbed(up, s) {
        return back_to_the_trial(s);
    }
    match (s.backoff(up), up.target.commit.clone()) {
        (Some(wait), _) => wait.into(),
        (None, Some(commit)) => {
            let over = Some(up.from.clone());
            Move::begin(Step::Bless { commit, over }).after([Change::DefaultKept])
        }
        (None, None) => rollback::leave(up, s),
    }
}

/// A check that fails ends the verdict: the blessing has waited, for instance for its next try. The
/// trial judges again, and its deadline is still the one of this boot.
fn back_to_the_trial(s: &Situation<'_>) -> Move {
    let boot = s.seen.turn.boot.clone();
    let deadline = SinceBoot(0).plus_seconds(s.policy.health.deadline_seconds);
    Move::look([
        Change::Phase(Phase::Trial { boot }),
        Change::Retry(None),
        Change::WellSince(None),
        hold(s, deadline),
    ])
}

fn is_healthy_here(up: &Upgrade, s: &Situation<'_>) -> bool {
    let boot = s.seen.turn.boot.clone();
    up.phase == Phase::Healthy { boot }
}

/// Somebody has made another system the default meanwhile. It stays that, and the new one does not
/// take its place. A trial ends by a reboot, which leads to it. A system that came up as the
/// default was blessed before the power went, and serves on.
fn overruled(s: &Situation<'_>) -> Move {
    let then = if s.seen.machine.trial {
        Move::begin(Step::Reboot { force: false })
    } else {
        Move::wait()
    };
    then.after([Change::GiveUp(s.seen.machine.foreign_default())])
}

/// The new system is the default: remove the cordon, clean up, be done.
pub(super) fn blessed(up: &Upgrade, s: &Situation<'_>) -> Move {
    if let Some(wait) = s.backoff(up) {
        return wait.into();
    }
    if s.reached && owes_kubeadm(up, s) {
        // Its unit looks for that in the record. The node is given back no sooner.
        return Move::begin(Step::Kubeadm).after([Change::KubeadmDue]);
    }
    if let Some(first) = control::before_the_release(up, s) {
        return first;
    }
    if let Some(first) = give_back(up, s) {
        return first.into();
    }
    if !up.cleaned {
        return Move::begin(Step::Clean);
    }
    // Otherwise it waits for the API server.
    let done = up.has_let_go() && !owes_kubeadm(up, s);
    Move::wait().after(done.then_some(Change::Phase(Phase::Upgraded)))
}

/// Whether `kubeadm upgrade node` has not run, or what it wrote may be gone. The old system
/// restores its kubelet's state whenever it boots after a trial. Between the blessing and this boot
/// the power may have brought it up once more, since the loader replays no journal, or a person at
/// the menu. A machine without a cluster has no kubelet to configure.
fn owes_kubeadm(up: &Upgrade, s: &Situation<'_>) -> bool {
    if !s.joined {
        return false;
    }
    let kubeadm = &up.attempt.kubeadm;
    kubeadm.due || kubeadm.configured.as_ref() != Some(&s.seen.turn.boot)
}
