//! The record as it will be, and the one function that writes it.

use super::change::{Change, Move, Whole};
use super::decision::Act;
use super::situation::Situation;
use crate::history::{self, Past};
use crate::id::{BootId, UpgradeId};
use crate::phase::Phase;
use crate::reason::{Disposition, Reason};
use crate::record::{BadImage, NewDefault, Record, Refused, Rehearsal, Upgrade};
use crate::target::RawRequest;

/// The record as it will be.
pub(super) struct NextRecord<'a> {
    /// The upgrade under way, or the last one.
    upgrade: Option<Upgrade>,
    /// The rest, without the upgrade.
    rest: Record,
    /// The moment at which it is written.
    s: &'a Situation<'a>,
}

impl<'a> NextRecord<'a> {
    pub(super) fn of(record: &Record, s: &'a Situation<'a>) -> Self {
        let mut rest = record.clone();
        Self {
            upgrade: rest.upgrade.take(),
            rest,
            s,
        }
    }

    /// The upgrade under way, or the last one.
    pub(super) const fn upgrade(&self) -> Option<&Upgrade> {
        self.upgrade.as_ref()
    }

    /// The rest, without the upgrade.
    pub(super) const fn without_the_upgrade(&self) -> &Record {
        &self.rest
    }

    /// Writes the changes of a move, and gives its act, if it has one.
    pub(super) fn apply(&mut self, found: Move) -> Option<Act> {
        self.write(found.changes);
        found.act
    }

    /// Writes the changes, in their order. Nothing else writes.
    pub(super) fn write(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            if let Change::Whole(whole) = change {
                write_whole(self, whole);
            } else if let Some(up) = &mut self.upgrade {
                write_upgrade(up, change);
            }
        }
    }

    /// The record, unless it is still as it was read.
    pub(super) fn if_changed(self, before: &Record) -> Option<Record> {
        let mut next = self.rest;
        next.upgrade = self.upgrade;
        if next == *before {
            return None;
        }
        next.generation = before.generation.saturating_add(1);
        Some(next)
    }
}

fn write_whole(next: &mut NextRecord<'_>, whole: Whole) {
    match whole {
        Whole::NothingAsked => nothing_asked(&mut next.rest),
        Whole::Refuse(request, reason) => refuse(&mut next.rest, *request, reason, next.s),
        Whole::Begin(up) => {
            next.rest.refused = None;
            next.upgrade = Some(*up);
        }
        Whole::Close => close(next),
    }
}

fn nothing_asked(rest: &mut Record) {
    rest.spent = None;
    rest.bad.iter_mut().for_each(|bad| bad.asked_again = true);
}

fn refuse(rest: &mut Record, request: RawRequest, reason: Reason, s: &Situation<'_>) {
    let id: Option<UpgradeId> = request.id.as_deref().and_then(|id| id.parse().ok());
    rest.tally.count_refused(&reason);
    let past = Past::refused(&request, id.clone(), &reason, s.seen.turn.wall);
    history::remember(&mut rest.past, past);
    rest.refused = Some(Refused { id, reason });
    rest.spent = Some(request.noted());
    rest.answered = rest.answered.saturating_add(1);
}

/// The request is spent, and a bad image remembered. A withdrawn request is not spent: it was
/// removed or replaced, so setting it again asks again, also while the way back is still taken.
fn close(next: &mut NextRecord<'_>) {
    let (Some(up), rest) = (&mut next.upgrade, &mut next.rest) else {
        return;
    };
    rest.tally.count(&up.phase, up.attempt.tries);
    history::remember(&mut rest.past, Past::ended(up, next.s.seen.into()));
    let is_withdrawn = matches!(up.phase.failure(), Some(Reason::Withdrawn { .. }));
    rest.spent = (!is_withdrawn).then(|| up.request.noted());
    rest.answered = rest.answered.saturating_add(1);
    (up.closed, up.intent) = (true, None);
    if let Some(bad) = blamed(up) {
        rest.remember_bad(bad);
    }
}

/// The image, when it is to blame.
fn blamed(up: &Upgrade) -> Option<BadImage> {
    let Phase::Failed { reason } = &up.phase else {
        return None;
    };
    let digest = up.commit().filter(|_| reason.blames_image())?;
    Some(BadImage {
        digest: digest.clone(),
        because: reason.code(),
        id: up.id.clone(),
        asked_again: false,
    })
}

fn write_upgrade(up: &mut Upgrade, change: Change) {
    match change {
        // It is of more than the upgrade.
        Change::Whole(_) => {}

        Change::Phase(phase) => up.phase = phase,
        Change::GiveUp(reason) => give_up(up, reason),
        Change::Intent(step) => up.intent = step,
        Change::Retry(retry) => up.retry = retry,
        Change::Waits(waits) => up.waits = waits,
        Change::Paused(paused) => up.paused = paused,

        Change::Commit(commit) => up.target.commit = Some(commit),
        Change::Target(target) => up.target = target,
        Change::Facts(facts) => up.facts = Some(facts),
        Change::Signatures(signatures) => up.signatures = Some(signatures),
        Change::Deployed(to) => (up.to, up.redo.deploying) = (Some(to), false),
        Change::DeployAgain => up.redo.deploying = true,
        Change::CountDeployment => up.redo.deployed = up.redo.deployed.saturating_add(1),
        Change::Rehearsed(blocked) => up.rehearsal = Rehearsal::Held { blocked },
        Change::Served(served) => up.served = served,
        Change::CountDrain => up.redo.drained = up.redo.drained.saturating_add(1),
        Change::Custody(custody) => up.custody = custody,
        Change::Control(control) => up.control = Some(control),

        Change::OldReached => up.api.from_old = true,
        Change::OldCompared => up.api.compared = true,
        Change::NewReached(boot) => up.api.from_new = Some(boot),
        Change::Unreached => up.api.compared = false,

        Change::Saved(saved) => up.attempt.saved = saved,
        Change::Arm(deadline_seconds) => up.attempt.arm(deadline_seconds),
        Change::Uncount => up.attempt.tries = up.attempt.tries.saturating_sub(1),
        Change::Guarded(boot) => up.attempt.guarded = Some(boot),
        Change::Enter(boot) => enter(up, boot),
        Change::GiveUpTrial(reason) => up.attempt.given_up = Some(reason),
        Change::Hold(until) => up.attempt.hold = Some(until),
        Change::WellSince(since) => up.attempt.well_since = since,
        Change::Differs(differs) => up.differs = differs,
        Change::KubeadmDue => up.attempt.kubeadm.due = true,
        Change::Configured(boot) => up.attempt.kubeadm.configure(boot),
        Change::DefaultMoved => up.attempt.default.note_moved(),
        Change::Reinstate(boot) => up.attempt.default.note_reinstating(boot),
        Change::DefaultKept => up.attempt.default = NewDefault::NotMoved,
        Change::EndedBy(end) => up.attempt.ended_by = Some(end),
        Change::NextTrial => next_trial(up),
        Change::Cleaned => up.cleaned = true,

        Change::Bill(bill) => up.bill = bill,
        Change::Waited(seconds) => {
            if let Some(phase) = up.reached.last_mut() {
                phase.waited = phase.waited.saturating_add(seconds);
            }
        }
        Change::Reached(phase) => up.reached.push(phase),
    }
}

/// A reason for another try that comes here has no try left.
fn give_up(up: &mut Upgrade, reason: Reason) {
    (up.retry, up.waits) = (None, None);
    up.phase = match reason.disposition() {
        Disposition::Retry | Disposition::RollBack => Phase::Reverting { reason },
        Disposition::Halt => Phase::Halted { reason },
    };
}

/// What held up the way here, as a refused reboot, is over.
fn enter(up: &mut Upgrade, boot: BootId) {
    (up.retry, up.attempt.kubeadm.due) = (None, false);
    up.phase = Phase::Trial { boot };
}

/// The next trial has its own snapshot, since this system has served since the last one. A blessing
/// that was seen and not yet flushed can go with the power. By then our cordon may be off and pods
/// be back, whether or not that was still written, so the node is drained once more.
fn next_trial(up: &mut Upgrade) {
    (up.cleaned, up.attempt.saved) = (false, false);
    (up.redo.deployed, up.redo.drained) = (0, 0);
    // Another deployment forgets the blessing that began: a swap by somebody else is not ours.
    up.redo.deploying |= up.phase.has_a_good_verdict();
    if up.custody.is_given_back() || up.phase == Phase::Blessed {
        up.custody = up.custody.before_the_next_trial();
        up.phase = Phase::Deployed;
    } else {
        up.phase = Phase::Drained;
    }
}
