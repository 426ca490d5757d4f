//! The time at which a trial without a verdict must end, whatever happened to the agent.
//! `careen-stage deadman` calls this.

use crate::decide::RecordRead;
use crate::id::SinceBoot;
use crate::limits;
use crate::observe::Observation;
use crate::record::Upgrade;

/// Seconds beyond the agent's own deadline that it has to write its verdict.
const SLACK: u64 = 60;

/// When the deadman must reboot at the latest; `None` if there is no trial to end. `seen` needs no
/// request, API server or health.
#[must_use]
pub fn due(seen: &Observation, read: &RecordRead) -> Option<SinceBoot> {
    // A default system was blessed in this boot: its argument stays on the command line, but its
    // trial is over.
    if !seen.machine.on_trial() || is_proven(seen, read) {
        return None;
    }
    let mine = last(read).filter(|up| leads_here(up, seen));
    Some(mine.map_or_else(by_default, |up| of_trial(up).max(held(up, seen))))
}

/// Whether the record says that the running system has proved itself, whatever the default is now.
/// An upgrade has made it the default, or has begun in it.
///
/// An upgrade begins only in the default, and never during a trial. A system that an upgrade leads
/// to is judged only by the phase.
#[must_use]
pub fn is_proven(seen: &Observation, read: &RecordRead) -> bool {
    last(read).is_some_and(|up| {
        if leads_here(up, seen) {
            up.phase.is_proven()
        } else {
            up.from.same(&seen.machine.booted)
        }
    })
}

/// The upgrade in the record: the one under way, or the last one.
fn last(read: &RecordRead) -> Option<&Upgrade> {
    let record = read.as_ref().ok()?;
    record.upgrade.as_ref()
}

fn leads_here(up: &Upgrade, seen: &Observation) -> bool {
    up.to
        .as_ref()
        .is_some_and(|to| to.same(&seen.machine.booted))
}

/// Whether the deadman must reboot now.
#[must_use]
pub fn is_due(seen: &Observation, read: &RecordRead) -> bool {
    due(seen, read).is_some_and(|at| seen.turn.now >= at)
}

/// When a trial ends if nothing is known: neither the running system nor the record.
#[must_use]
pub fn by_default() -> SinceBoot {
    over(limits::TRIAL)
}

fn of_trial(up: &Upgrade) -> SinceBoot {
    match up.attempt.deadline_seconds {
        // The record does not say how long this trial may take, so the default applies.
        0 => by_default(),
        seconds => over(seconds),
    }
}

const fn over(deadline_seconds: u64) -> SinceBoot {
    SinceBoot(0).plus_seconds(deadline_seconds.saturating_add(SLACK))
}

/// The moment in this boot until which the agent waits for the API server, if it set one.
fn held(up: &Upgrade, seen: &Observation) -> SinceBoot {
    let hold = up
        .attempt
        .hold
        .as_ref()
        .filter(|hold| hold.boot == seen.turn.boot);
    hold.map_or(SinceBoot(0), |hold| hold.at)
}
