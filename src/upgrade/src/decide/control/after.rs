//! After this node's turn: whether its part of the control plane is well, and the end of the turn.

use super::super::change::{Change, Move};
use super::super::decision::Act;
use super::super::situation::Situation;
use super::pace::{ARMING, RECENT, UNWELL, again, is_within, look_again, with_lock};
use crate::control_plane::Task;
use crate::id::SinceBoot;
use crate::observe::Cause;
use crate::phase::Phase;
use crate::reason::{Reason, complaint};
use crate::record::{Control, Hurt, Lock, Look, Raise, Upgrade};
use crate::step::{Step, StepKind};

/// What a look says after the node's turn.
enum Part<'a> {
    /// It is well.
    Well,
    /// It is not.
    Unwell(&'a Look, &'a Hurt),
    /// Nobody has looked in this boot, or not lately.
    Unseen,
}

/// In the trial: a system in which this node's part is not well is not blessed. Its time is that of
/// the trial, and at least [`UNWELL`] from the first look on.
pub(in super::super) fn before_the_blessing(
    up: &Upgrade,
    deadline: SinceBoot,
    s: &Situation<'_>,
) -> Option<Move> {
    let control = up.control.as_ref()?;
    match part(control, s) {
        Part::Well => None,
        Part::Unseen => Some(unseen(up, deadline, s)),
        Part::Unwell(look, hurt) => {
            let until = deadline.max(hurt.since.at.plus_seconds(UNWELL));
            if s.seen.turn.now < until {
                return Some(again(Task::Survey, &look.seen, None, s));
            }
            Some(unhealthy(hurt.detail.clone(), s))
        }
    }
}

/// A look that fails again and again must not carry the trial on for ever.
fn unseen(up: &Upgrade, deadline: SinceBoot, s: &Situation<'_>) -> Move {
    let kind = StepKind::Control(Task::Survey);
    let failed = up.retry.as_ref().filter(|retry| retry.is_of(kind));
    match failed {
        Some(retry) if s.seen.turn.now >= deadline.plus_seconds(UNWELL) => {
            unhealthy(complaint(&retry.reason), s)
        }
        Some(_) => s.backoff(up).map_or_else(|| look_again(None), Move::act),
        None => look_again(None),
    }
}

/// Other members, the network and the clock can be the cause as well as the image.
fn unhealthy(detail: String, s: &Situation<'_>) -> Move {
    let reason = Reason::Unhealthy {
        check: "control plane".to_owned(),
        detail,
        seconds: s.seen.turn.now.0 / 1000,
        cause: Cause::Unclear,
    };
    Move::look([
        Change::Retry(None),
        Change::Phase(Phase::Reverting { reason }),
    ])
}

/// Before the node is given back, if the upgrade has touched its part: it must be well. Nobody goes
/// on over a part that is not, so the cordon and the lock stay until a person has looked. The cordon
/// stays also where a person has removed the lock and another upgrade has it.
pub(in super::super) fn before_the_release(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    let control = up.control.as_ref().filter(|_| is_touched(up))?;
    if up.has_let_go() {
        return None;
    }
    until_well(up, control, s)
}

/// Before the node is taken, and before it goes away: a part that kubeadm or an earlier trial has
/// touched must be well. The quorum is not known where this node's member cannot be asked.
pub(super) fn before_it_leaves(up: &Upgrade, control: &Control, s: &Situation<'_>) -> Option<Move> {
    is_touched(up).then(|| until_well(up, control, s)).flatten()
}

fn until_well(up: &Upgrade, control: &Control, s: &Situation<'_>) -> Option<Move> {
    match part(control, s) {
        Part::Well => None,
        Part::Unseen => Some(look_again(up.waits.clone())),
        Part::Unwell(look, hurt) if is_within(&hurt.since, UNWELL, s) => {
            Some(again(Task::Survey, &look.seen, up.waits.clone(), s))
        }
        Part::Unwell(_, hurt) => {
            let detail = hurt_words(up, hurt);
            Some(Move::give_up(Reason::ControlPlaneHurt { detail }))
        }
    }
}

/// On the way back from a raise that did not end well: its manifests stay as they are, and no boot
/// changes them.
pub(in super::super) fn give_up_the_raise(up: &Upgrade) -> Option<Act> {
    let control = up.control.as_ref()?;
    (control.raise == Raise::Begun).then_some(begin_act(Task::GiveUp))
}

/// The end of the turn, once the node is given back; nothing when the lock is released.
pub(in super::super) fn unlock(up: &Upgrade, s: &Situation<'_>) -> Option<Act> {
    if !up.holds_the_lock() {
        return None;
    }
    if !s.reached {
        return s.connecting();
    }
    Some(begin_act(Task::Unlock))
}

/// The lock may be gone as soon as its release begins, whatever becomes of the answer.
pub(in super::super) fn note_the_release(up: &Upgrade, act: &Act) -> Option<Change> {
    let control = up.control.as_ref()?;
    let releases = *act == begin_act(Task::Unlock);
    (releases && control.lock != Lock::Asked).then(|| with_lock(control, Lock::Asked))
}

/// Before a trial is left by a reboot: while too few other members are healthy, this one stays,
/// because etcd would lose its quorum for a boot. It stays at most [`UNWELL`], and not where its
/// own part is not well or where a look or a reboot has failed.
pub(in super::super) fn before_the_way_back(up: &Upgrade, s: &Situation<'_>) -> Option<Move> {
    let control = up.control.as_ref().filter(|_| s.reached)?;
    let kinds = [StepKind::Control(Task::Survey), StepKind::Reboot];
    let retry = up.retry.as_ref();
    if retry.is_some_and(|retry| kinds.iter().any(|kind| retry.is_of(*kind))) {
        return None;
    }
    let recent = control.look.as_ref();
    let Some(look) = recent.filter(|look| is_within(&look.seen, ARMING, s)) else {
        return Some(look_again(up.waits.clone()));
    };
    let since = control.waiting.as_ref().map(|waiting| &waiting.since);
    let may_wait = since.is_some_and(|since| is_within(since, UNWELL, s));
    let stays = look.needed && look.hurt.is_none() && may_wait;
    stays.then(|| again(Task::Survey, &look.seen, look.waits.clone(), s))
}

const fn begin_act(task: Task) -> Act {
    Act::Begin(Step::Control { task })
}

/// Whether the static pods or the system below them have changed.
fn is_touched(up: &Upgrade) -> bool {
    let raised = up.control.as_ref().map(|control| &control.raise);
    up.attempt.tries > 0 || raised.is_some_and(|raise| !raise.is_due())
}

fn part<'a>(control: &'a Control, s: &Situation<'_>) -> Part<'a> {
    let look = control.look.as_ref();
    match look.filter(|look| is_within(&look.seen, RECENT, s)) {
        None => Part::Unseen,
        Some(look) => look
            .hurt
            .as_ref()
            .map_or(Part::Well, |hurt| Part::Unwell(look, hurt)),
    }
}

/// What is hurt, and what the upgrade was doing.
fn hurt_words(up: &Upgrade, hurt: &Hurt) -> String {
    match &up.phase {
        Phase::Reverting { reason } => {
            format!("{}; the upgrade was rolling back: {reason}", hurt.detail)
        }
        Phase::Accepted
        | Phase::Fetched
        | Phase::Verified
        | Phase::Deployed
        | Phase::Drained
        | Phase::Armed { .. }
        | Phase::Trial { .. }
        | Phase::Healthy { .. }
        | Phase::Blessed
        | Phase::Upgraded
        | Phase::Failed { .. }
        | Phase::Halted { .. } => hurt.detail.clone(),
    }
}
