//! What the step that has just ended means for the record.

use super::change::Change;
use super::situation::Situation;
use super::write::NextRecord;
use super::{control, facts, failed, memory};
use crate::id::Digest;
use crate::image::Deployment;
use crate::phase::Phase;
use crate::record::{BadImage, Upgrade};
use crate::serving::renewed;
use crate::step::{Effect, Finished, Outcome, Step};

/// The changes that follow from how a step ended, if one did.
pub(super) fn fold_what_ended(next: &NextRecord<'_>, s: &Situation<'_>) -> Vec<Change> {
    let (Some(up), Some(finished)) = (next.upgrade(), &s.seen.turn.finished) else {
        return Vec::new();
    };
    // A mark or a shield belongs to the Node and to no upgrade.
    if matches!(finished.step, Step::Unmark | Step::Settle) {
        return Vec::new();
    }
    let mut changes = vec![Change::Intent(None)];
    changes.extend(ended(up, finished, &next.without_the_upgrade().bad, s));
    changes
}

fn ended(
    up: &Upgrade,
    Finished { step, outcome }: &Finished,
    bad: &[BadImage],
    s: &Situation<'_>,
) -> Vec<Change> {
    if !belongs(step, &up.phase) {
        // A late answer: the phase has moved on, and the phase is believed.
        return fetched_before(up, step, bad).into_iter().collect();
    }
    match outcome {
        Outcome::Done(effect) => {
            let retry = up.retry.clone();
            let retry = Change::Retry(retry.filter(|retry| !retry.is_of(step.kind())));
            let done = done(up, step, effect, bad, s);
            [retry].into_iter().chain(done).collect()
        }
        Outcome::Failed(reason) => failed::failed(up, step, reason, s),
        // The withdrawal or the deadline that cancelled it is seen in the same observation.
        Outcome::Cancelled => Vec::new(),
    }
}

/// Whether a step can have begun in a phase.
const fn belongs(step: &Step, phase: &Phase) -> bool {
    match step {
        Step::Fetch { .. } => matches!(phase, Phase::Accepted),
        Step::Verify { .. } => matches!(phase, Phase::Fetched),
        Step::Rehearse => matches!(phase, Phase::Verified),
        Step::Deploy { .. } => matches!(phase, Phase::Verified | Phase::Deployed | Phase::Drained),
        Step::PreHooks | Step::Exclude | Step::Drain { .. } => matches!(phase, Phase::Deployed),
        Step::Snapshot => matches!(phase, Phase::Drained),
        Step::Arm { .. } => matches!(phase, Phase::Armed { .. }),
        Step::Kubeadm => matches!(phase, Phase::Trial { .. } | Phase::Blessed),
        Step::Bless { .. } => matches!(phase, Phase::Healthy { .. }),
        Step::Reinstate { .. } => !(phase.is_end() || phase.can_be_withdrawn()),
        Step::PostHooks { .. } | Step::Release => may_give_back(phase),
        Step::Undo { .. } => matches!(phase, Phase::Reverting { .. }),
        Step::Clean => matches!(phase, Phase::Blessed),
        Step::Disarm => !phase.is_end(),
        Step::Reboot { .. } => matches!(
            phase,
            Phase::Armed { .. }
                | Phase::Trial { .. }
                | Phase::Healthy { .. }
                | Phase::Reverting { .. }
        ),
        Step::Control { .. } => !phase.is_end(),
        Step::Unmark | Step::Settle | Step::Pass => false,
    }
}

/// A halted upgrade gives the node back when somebody asks again; before the arming the end of the
/// operator's hours does.
const fn may_give_back(phase: &Phase) -> bool {
    let halted = matches!(phase, Phase::Halted { .. });
    let taken = matches!(phase, Phase::Deployed | Phase::Drained);
    halted || taken || !(phase.is_end() || phase.can_be_withdrawn())
}

fn done(
    up: &Upgrade,
    step: &Step,
    effect: &Effect,
    bad: &[BadImage],
    s: &Situation<'_>,
) -> Vec<Change> {
    match (step, effect) {
        (Step::Fetch { .. }, Effect::Fetched { commit }) => fetched(up, commit, bad, s),
        (Step::Verify { .. }, Effect::Verified(found)) => {
            let verdict = facts::judge(found, &up.into(), s.seen, s.policy);
            let next = verdict.map_or_else(Change::GiveUp, |()| Change::Phase(Phase::Verified));
            vec![next, Change::Facts(found.clone())]
        }
        (Step::Rehearse, Effect::Rehearsed { blocked }) => {
            vec![Change::Rehearsed(blocked.clone()), Change::OldReached]
        }
        (Step::Deploy { .. }, Effect::Deployed(to)) => deployed(up, to.clone()),
        (Step::PreHooks, effect) => prepared(up, effect),
        (Step::Exclude, _) => {
            let custody = up.custody.noting(|taken| taken.excluded = Some(s.moment()));
            vec![Change::Custody(custody)]
        }
        (Step::Drain { .. }, effect) => drained(up, effect),
        (Step::Snapshot, effect) => saved(up, effect),
        (Step::PostHooks { .. }, _) => failed::post_hooks_over(up),
        (Step::Bless { .. }, _) => vec![Change::Phase(Phase::Blessed)],
        (Step::Kubeadm, _) => vec![Change::Configured(s.seen.turn.boot.clone())],
        (Step::Release, _) => vec![Change::Custody(up.custody.give_back(Some(s.moment())))],
        (Step::Undo { .. } | Step::Clean, _) => vec![Change::Cleaned],
        (Step::Control { .. }, Effect::Controlled(done)) => control::done(up, done, s),
        // Their effect is seen: the one-shot entry, the boot, the health. The others brought no
        // effect of their kind.
        (
            Step::Arm { .. }
            | Step::Disarm
            | Step::Reboot { .. }
            | Step::Unmark
            | Step::Settle
            | Step::Reinstate { .. }
            | Step::Pass
            | Step::Fetch { .. }
            | Step::Verify { .. }
            | Step::Rehearse
            | Step::Deploy { .. }
            | Step::Control { .. },
            _,
        ) => Vec::new(),
    }
}

/// What the hooks stop has served before, and serves again after the reboot. Once the drain has
/// noted the Node, the note is complete.
fn prepared(up: &Upgrade, effect: &Effect) -> Vec<Change> {
    let custody = up.custody.noting(|taken| taken.prepared = true);
    let mut changes = vec![Change::Custody(custody)];
    if let Effect::Prepared { serving } = effect
        && up.served.node.is_none()
    {
        changes.push(Change::Served(serving.clone()));
    }
    changes
}

/// The users have had the node since the last snapshot. No drain ends without the API server,
/// however short it was there. A drain that is repeated keeps the note of the first one, which is
/// of a node in service.
fn drained(up: &Upgrade, effect: &Effect) -> Vec<Change> {
    let mut changes = vec![
        Change::OldReached,
        Change::Phase(Phase::Drained),
        Change::Saved(false),
    ];
    if let Effect::Drained { serving } = effect
        && up.served.node.is_none()
    {
        let served = up.served.clone().joined(serving.clone());
        changes.push(Change::Served(served));
    }
    changes
}

/// Before another trial the note's pods are renewed: the old system has run since, and with it
/// other containers, which show nothing of the new system.
fn saved(up: &Upgrade, effect: &Effect) -> Vec<Change> {
    let mut changes = vec![Change::Saved(true)];
    let mut served = up.served.clone();
    if let Effect::Saved { pods: Some(now) } = effect
        && let Some(node) = served.node.as_mut().filter(|_| up.attempt.tries > 0)
    {
        node.pods = renewed(&node.pods, now);
        changes.push(Change::Served(served));
    }
    changes
}

/// A ref or a container image says which commit it is only when it is fetched.
fn fetched(up: &Upgrade, commit: &Digest, bad: &[BadImage], s: &Situation<'_>) -> Vec<Change> {
    let mut changes = vec![Change::Commit(commit.clone())];
    if *commit == s.seen.machine.booted.digest {
        let wanted = facts::For::from(up).kubernetes;
        let carries = facts::carries(wanted.as_ref(), s.seen.machine.version.as_ref());
        changes.push(carries.map_or_else(Change::GiveUp, |()| Change::Phase(Phase::Upgraded)));
    } else {
        changes.push(Change::Phase(Phase::Fetched));
        changes.extend(remembered(up, commit, bad));
    }
    changes
}

/// The same of a fetch that ends late.
fn fetched_before(up: &Upgrade, step: &Step, bad: &[BadImage]) -> Option<Change> {
    let late = matches!(step, Step::Fetch { .. }) && up.phase == Phase::Fetched;
    let commit = up.commit().filter(|_| late)?;
    remembered(up, commit, bad)
}

/// A bad image is not tried again unasked. An id that the agent derived asks for none.
fn remembered(up: &Upgrade, commit: &Digest, bad: &[BadImage]) -> Option<Change> {
    let id = up.request.id.as_ref().map(|_| &up.id);
    memory::check(bad, commit, id).err().map(Change::GiveUp)
}

/// A second deployment just before the arming changes the deployment, not how far the upgrade is.
fn deployed(up: &Upgrade, to: Deployment) -> Vec<Change> {
    let mut changes = vec![Change::Deployed(to)];
    if up.phase == Phase::Verified {
        changes.push(Change::Phase(Phase::Deployed));
    }
    changes
}
