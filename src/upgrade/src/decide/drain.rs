//! Taking the node from its users, in the order in which it hurts: hooks that may still refuse,
//! load balancers, then cordon and drain.

use super::change::{Change, Move};
use super::control;
use super::decision::Act;
use super::situation::Situation;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Custody, Taken, Upgrade};
use crate::serving::Serving;
use crate::step::Step;

/// The next step of it.
pub(super) fn take(up: &Upgrade, custody: &Custody, s: &Situation<'_>) -> Move {
    if let Some(wait) = s.unheard() {
        return wait.into();
    }
    let mut taken = custody.take(s.seen.node.name.as_ref());
    let first = if s.seen.machine.hooks.pre && !taken.prepared {
        Some(Act::Begin(Step::PreHooks).into())
    } else {
        exclusion(&taken, s).map(Move::act)
    };
    let next = first
        .or_else(|| control::raise(up))
        .unwrap_or_else(|| Move::begin(drain(&mut taken, s)));
    // Its users have had it since the note, so it may serve otherwise by now.
    let noted = custody.is_given_back();
    let noted = noted.then(|| Change::Served(Serving::default()));
    let taken = Change::Custody(Custody::Upgrade(taken));
    next.after([taken].into_iter().chain(noted))
}

/// Asks load balancers to leave the node out, and gives them time; nothing when that is over.
fn exclusion(taken: &Taken, s: &Situation<'_>) -> Option<Act> {
    if !s.policy.load_balancer.exclude {
        return None;
    }
    let Some(since) = &taken.excluded else {
        let act = if s.reached {
            Act::Begin(Step::Exclude)
        } else {
            Act::Wait(None)
        };
        return Some(act);
    };
    let until = since.at.plus_seconds(s.policy.load_balancer.wait_seconds);
    let early = since.boot == s.seen.turn.boot && s.seen.turn.now < until;
    early.then_some(Act::Wait(Some(until)))
}

/// The drain. Its deadline runs since it first began in this boot: a restart of the agent does not
/// extend the cordon.
fn drain(taken: &mut Taken, s: &Situation<'_>) -> Step {
    let first = taken.drain_begun.take();
    let begun = first
        .filter(|first| first.boot == s.seen.turn.boot)
        .unwrap_or_else(|| s.moment());
    let spent_seconds = s.seen.turn.now.seconds_since(begun.at);
    taken.drain_begun = Some(begun);
    Step::Drain { spent_seconds }
}

/// Somebody removed the cordon after the drain: pods may be back, and the reboot would end them.
/// The node is taken once more, a bounded number of times, since a program may be doing that.
pub(super) fn again(up: &Upgrade, s: &Situation<'_>) -> Result<Vec<Change>, Reason> {
    if up.redo.drained >= s.policy.tries {
        let detail = format!(
            "the cordon was removed {} times after the drain; find out who uncordons this Node",
            up.redo.drained
        );
        return Err(Reason::DrainRefused { detail });
    }
    Ok(vec![
        Change::CountDrain,
        Change::Phase(Phase::Deployed),
        Change::Custody(up.custody.before_the_drain()),
    ])
}
