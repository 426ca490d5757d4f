//! The trial is armed, and control passes to the new system.

use super::change::{Change, Move};
use super::situation::Situation;
use super::withdrawn::renamed;
use super::{allowed, control, drain, signatures};
use crate::image::Deployment;
use crate::observe::OneShot;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::{Outcome, Step};
use crate::target::{Source, Target};

/// The trusted system counts the attempt before it writes the one-shot entry.
pub(super) fn arm(up: &Upgrade, deployment: Deployment, s: &Situation<'_>) -> Move {
    let boot = s.seen.turn.boot.clone();
    let first = [
        Change::Arm(s.policy.health.deadline_seconds),
        Change::Phase(Phase::Armed { boot }),
    ];
    Move::begin(Step::Arm { deployment })
        .after(in_words_that_every_guard_reads(up))
        .after(first)
}

/// The new image's guard reads this record, and may be older than images from registries. The
/// request keeps the words.
fn in_words_that_every_guard_reads(up: &Upgrade) -> Option<Change> {
    let is_on_a_remote = matches!(up.target.source, Source::Remote(_));
    let commit = up.target.commit.clone().filter(|_| !is_on_a_remote)?;
    Some(Change::Target(Target::here(commit)))
}

/// Armed, in the boot that armed: write the one-shot entry, then reboot at once. An agent that was
/// killed comes here any time later, so what was true at the arming is checked again.
pub(super) fn armed(up: &Upgrade, s: &Situation<'_>) -> Move {
    if let Some(wait) = s.backoff(up) {
        return wait.into();
    }
    match allowed::check_again(up, s).and_then(|()| place(up, s)) {
        Err(reason) => Move::give_up(reason).after(uncount(up, s)),
        Ok(_) if is_too_early(up, s) => back(up, s),
        Ok(deployment) => s.unheard().map_or_else(|| go(deployment, s), Move::act),
    }
}

/// GRUB counts its entries, and the count changes with each deployment that comes or goes: what was
/// armed some time ago may lead elsewhere.
fn go(deployment: Deployment, s: &Situation<'_>) -> Move {
    let finished = s.seen.turn.finished.as_ref();
    let has_just_armed = finished.is_some_and(|finished| {
        matches!(finished.step, Step::Arm { .. }) && matches!(finished.outcome, Outcome::Done(_))
    });
    match s.seen.machine.one_shot {
        OneShot::Set if has_just_armed => Move::begin(Step::Reboot { force: false }),
        OneShot::Set | OneShot::Clear | OneShot::Unreadable => {
            Move::begin(Step::Arm { deployment })
        }
    }
}

/// Whether the policy asks more of signatures now, the new system would boot with an /etc that is
/// not the present one, the reboot would end pods that are back, a clean-up take what the trial
/// falls back to, or the other members of the control plane were not seen lately.
fn is_too_early(up: &Upgrade, s: &Situation<'_>) -> bool {
    let unsigned = signatures::ask_for_more(up, s.policy)
        || signatures::lack_the_verdict_of_skopeo(up, s.policy);
    let pinned = s.seen.machine.default_is_pinned();
    let renamed = renamed(up, s.seen).is_some();
    let unseen = control::is_stale(up, s);
    unsigned || s.seen.machine.etc_stale || s.seen.node.uncordoned || !pinned || renamed || unseen
}

/// Back to before the arming, which does not count. It is written before the one-shot entry goes,
/// in which time the cordon may be set again and pods be back all the same.
fn back(up: &Upgrade, s: &Situation<'_>) -> Move {
    let next = if s.seen.node.uncordoned {
        drain::again(up, s).map_or_else(Move::give_up, Move::look)
    } else {
        Move::look([])
    };
    let drained = [Change::Phase(Phase::Drained), Change::Saved(false)];
    next.after(drained).after(uncount(up, s))
}

/// A trial that was armed in this boot did not happen: this system has kept control all the while.
pub(super) fn uncount(up: &Upgrade, s: &Situation<'_>) -> Option<Change> {
    let armed_here = matches!(&up.phase, Phase::Armed { boot } if *boot == s.seen.turn.boot);
    armed_here.then_some(Change::Uncount)
}

/// Where the new deployment is. It must exist, and the old one must be the default and stay it:
/// only then does an unfinished trial fall back. A staged system moves the menu at the very
/// shutdown that leads into the trial, under the position that is armed.
pub(super) fn place(up: &Upgrade, s: &Situation<'_>) -> Result<Deployment, Reason> {
    let exists = |to: &&Deployment| {
        s.seen
            .machine
            .deployments
            .iter()
            .any(|there| there.same(to))
    };
    let Some(to) = up.to.as_ref().filter(exists) else {
        let commit = up.short_commit();
        return Err(Reason::TargetVanished { commit });
    };
    if s.seen.machine.default_is(&up.from) && !s.seen.machine.staged {
        Ok(to.clone())
    } else {
        Err(s.seen.machine.foreign_default())
    }
}
