//! What every decision notes besides: the end of an upgrade, the step that begins, the phase.

use super::change::{Change, Whole};
use super::decision::Act;
use super::situation::Situation;
use super::write::NextRecord;
use super::{bill, control};
use crate::observe::Asked;
use crate::record::Upgrade;
use crate::record::{Reached, Record};
use crate::step::Step;

/// How many reached phases are kept; an upgrade with all its tries has fewer.
const REACHED: usize = 64;

/// The end of the upgrade, if it has ended and that is not written yet.
pub(super) fn if_ended(next: &NextRecord<'_>) -> Option<Change> {
    next.upgrade()
        .filter(|up| up.phase.is_end() && !up.closed)
        .map(|_| Change::Whole(Whole::Close))
}

/// That nobody asks for anything, if so.
pub(super) fn if_nobody_asks(s: &Situation<'_>) -> Option<Change> {
    (s.seen.node.request == Asked::Nothing).then_some(Change::Whole(Whole::NothingAsked))
}

/// Whether an upgrade has ended, and another request is there already: nothing would wake the agent
/// for it, but an API server that goes away and comes back.
pub(super) fn another_request_is_there(next: &NextRecord<'_>, s: &Situation<'_>) -> bool {
    next.upgrade().is_some_and(|up| up.phase.is_end())
        && s.reached
        && s.seen.turn.running.is_none()
        && s.seen.node.paused.is_none()
        && next
            .without_the_upgrade()
            .unanswered(&s.seen.node.request)
            .is_some()
}

/// What every decision notes: the step that begins, the bill, the phase.
pub(super) fn notes_of_this_decision(
    before: &Record,
    next: &NextRecord<'_>,
    act: &Act,
    s: &Situation<'_>,
) -> Vec<Change> {
    let Some(up) = next.upgrade() else {
        return Vec::new();
    };
    let release = control::note_the_release(up, act);
    let intent = intent(up, act);
    let bill = bill::charge(before, up, act, s);
    let reached = reached(up, s);
    let notes = release.into_iter().chain(intent);
    notes.chain(bill).chain(reached).collect()
}

/// The step that is about to begin, for the agent that reads the record after a crash.
fn intent(up: &Upgrade, act: &Act) -> Option<Change> {
    let Act::Begin(step) = act else { return None };
    // A mark or a shield that is left is seen on the Node, so nobody has to finish these steps.
    if matches!(step, Step::Unmark | Step::Settle) || up.phase.is_end() {
        return None;
    }
    // An older version reads no record that names a step which it does not know.
    let known = !matches!(step, Step::Reinstate { .. } | Step::Control { .. });
    Some(Change::Intent(Some(step.clone()).filter(|_| known)))
}

/// The phase, when it is another one than before.
fn reached(up: &Upgrade, s: &Situation<'_>) -> Option<Change> {
    let phase = up.phase.name();
    let new = up.reached.last().is_none_or(|last| last.phase != phase);
    (new && up.reached.len() < REACHED).then(|| {
        Change::Reached(Reached {
            phase: phase.to_owned(),
            at: s.seen.turn.wall,
            waited: 0,
        })
    })
}
