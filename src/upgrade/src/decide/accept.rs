//! With nothing under way: what an earlier upgrade left, then taking a request or refusing it
//! before anything is touched.

use super::change::{Change, Move, Whole};
use super::decision::Act;
use super::give_back::post_hooks;
use super::situation::{Situation, System};
use super::write::NextRecord;
use super::{facts, safety, wanted};
use crate::id::UpgradeId;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Control, Record, Upgrade};

use crate::step::Step;
use crate::target::{RawRequest, Target, Wanted};

/// The least time between two refusals, in seconds.
const PACE: u64 = 1;

/// What to do when no upgrade is under way.
pub(super) fn without_an_upgrade(next: &NextRecord<'_>, s: &Situation<'_>) -> Move {
    let (last, rest) = (next.upgrade(), next.without_the_upgrade());
    if s.seen.machine.on_trial() && !is_proven(last, s) {
        // A trial that no record knows: the old system is the default, so leaving is falling back.
        return safety::leave_trial(s).into();
    }
    let left = safety::disarm(None, s)
        .or_else(|| lift(last, s))
        .or_else(|| uncordoned_by_hand(last, s));
    if let Some(first) = left {
        return first.into();
    }
    let open = rest.unanswered(&s.seen.node.request);
    let Some(raw) = open.filter(|_| s.seen.node.paused.is_none()) else {
        return remove_shields(last, s).into();
    };
    match accept(rest, raw, s) {
        Ok(up) => release_halted(last, s).map_or_else(|| begin(up, last, s), Move::act),
        Err(reason) => refuse(raw, reason, last, s),
    }
}

/// Each refusal is a write of the record and one of the Node. A requester who writes one bad
/// request after the other gets an answer to the latest of each second.
fn refuse(raw: &RawRequest, reason: Reason, last: Option<&Upgrade>, s: &Situation<'_>) -> Move {
    let next = s.seen.turn.refused.map(|last| last.plus_seconds(PACE));
    match next.filter(|next| s.seen.turn.now < *next) {
        Some(next) => Move::act(Act::Wait(Some(next))),
        None => {
            let refuse = Change::Whole(Whole::Refuse(Box::new(raw.clone()), reason));
            Move::act(remove_shields(last, s)).after([refuse])
        }
    }
}

/// Until the node is taken again, it settles since the last upgrade gave it back.
fn begin(mut up: Upgrade, last: Option<&Upgrade>, s: &Situation<'_>) -> Move {
    let back = last.and_then(|last| last.custody.given_back_at());
    if let Some(back) = back.filter(|back| back.boot == s.seen.turn.boot) {
        up.custody = up.custody.give_back(Some(back.clone()));
    }
    Move::look([Change::Whole(Whole::Begin(Box::new(up)))])
}

/// Whether the last upgrade leaves the running system as proven: it began in it, when that was the
/// default, or ended well in it. Where somebody then makes another system the default, that means
/// the next reboot, and not one now that ends the node's pods.
fn is_proven(last: Option<&Upgrade>, s: &Situation<'_>) -> bool {
    last.is_some_and(|up| match s.system(up) {
        System::Old => true,
        System::New => up.phase == Phase::Upgraded,
        System::Other => false,
    })
}

/// A halted upgrade keeps its cordon for the person who looks at the node. A new request shows that
/// somebody has looked. The cordon goes before the next upgrade, which would take it for foreign
/// and leave it.
fn release_halted(last: Option<&Upgrade>, s: &Situation<'_>) -> Option<Act> {
    let last = last.filter(|up| is_halted(up) && !up.custody.is_given_back())?;
    let first = s.backoff(last).or_else(|| post_hooks(last, s));
    let release = if s.reached {
        Act::Begin(Step::Release)
    } else {
        Act::Wait(None)
    };
    Some(first.unwrap_or(release))
}

/// A person who uncordons a halted node has looked as well, and gives it back to its users: what
/// else keeps it from them goes too. Otherwise our mark would stay for months, and a later cordon
/// of somebody else's would look like ours.
fn uncordoned_by_hand(last: Option<&Upgrade>, s: &Situation<'_>) -> Option<Act> {
    let uncordoned = |up: &&Upgrade| up.custody.is_taken() && s.seen.node.uncordoned;
    release_halted(last.filter(uncordoned), s)
}

/// What keeps the node from its users for an upgrade that is over and has given it back: the API
/// server carried out our write late, or was restored to an earlier state.
fn lift(last: Option<&Upgrade>, s: &Situation<'_>) -> Option<Act> {
    last.filter(|up| is_over(up))?;
    safety::lift(s)
}

/// Our shields stay on a halted node until it is given back. A request is taken without them: they
/// become those of the next upgrade when it takes the node.
pub(super) fn remove_shields(last: Option<&Upgrade>, s: &Situation<'_>) -> Act {
    if last.is_none_or(is_over) {
        safety::remove_shields_when_settled(last, s)
    } else {
        Act::Wait(None)
    }
}

/// Whether the upgrade has ended, and keeps the node for nobody.
fn is_over(up: &Upgrade) -> bool {
    let kept = is_halted(up) && !up.custody.is_given_back();
    up.phase.is_end() && !kept
}

const fn is_halted(up: &Upgrade) -> bool {
    matches!(up.phase, Phase::Halted { .. })
}

fn accept(rest: &Record, raw: &RawRequest, s: &Situation<'_>) -> Result<Upgrade, Reason> {
    let policy = s.read.as_ref().map_err(Clone::clone)?;
    let request = raw.parse()?;
    let id = request.id.as_ref();
    let target = wanted::check(rest, &request.wanted, id, s.seen, policy)?;
    if wanted::runs(&target, s.seen) {
        let running = s.seen.machine.version.as_ref();
        facts::carries(request.kubernetes.as_ref(), running)?;
    }
    let id = match request.id {
        Some(id) => id,
        None => derived_id(rest, s)?,
    };
    Ok(upgrade(raw, id, &request.wanted, target, s))
}

fn upgrade(
    raw: &RawRequest,
    id: UpgradeId,
    asked: &Wanted,
    target: Target,
    s: &Situation<'_>,
) -> Upgrade {
    let running = wanted::runs(&target, s.seen);
    let mut up = Upgrade::new(id, raw.clone(), target, s.seen.machine.booted.clone());
    up.kept = *asked == Wanted::Kept;
    up.phase = match (running, up.kept) {
        (true, _) => Phase::Upgraded,
        // It is here as a deployment, which holds its commit.
        (false, true) => Phase::Fetched,
        (false, false) => Phase::Accepted,
    };
    up.from_version.clone_from(&s.seen.machine.version);
    let control_plane = s.seen.machine.control_plane.as_ref();
    up.control = control_plane.map(|_| Control::default());
    up
}

/// Unique on this node: the number of the request, and the system it found.
fn derived_id(rest: &Record, s: &Situation<'_>) -> Result<UpgradeId, Reason> {
    let number = rest.answered.saturating_add(1);
    Ok(format!("r{number}-{}", s.seen.machine.booted.digest.short()).parse()?)
}
