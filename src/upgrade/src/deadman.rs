//! When a trial without a verdict must end, whatever became of the agent. Called by `careen-stage deadman`.

use crate::decide::RecordRead;
use crate::id::SinceBoot;
use crate::observe::Observation;
use crate::policy;
use crate::record::Upgrade;

/// Seconds that the agent has beyond its own deadline to write its verdict down.
const SLACK: u64 = 60;

/// When the deadman must reboot at the latest; nothing while there is no trial to end. `seen` needs no request, API server or health.
#[must_use]
pub fn due(seen: &Observation, read: &RecordRead) -> Option<SinceBoot> {
    // A system that is the default was blessed in this boot: its argument stays on the command line, its trial is over.
    if !seen.machine.on_trial() || is_proven(seen, read) {
        return None;
    }
    let mine = last(read).filter(|up| leads_here(up, seen));
    Some(mine.map_or_else(by_default, |up| of_trial(up).max(held(up, seen))))
}

/// Whether the record says that the running system has proved itself, whatever is the default by now: an upgrade has made it that, or has begun in it.
///
/// None begins but in the default, and none during a trial. What an upgrade leads to is judged by its phase alone.
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

/// The upgrade that the record speaks of: the one under way, or the last.
fn last(read: &RecordRead) -> Option<&Upgrade> {
    let record = read.as_ref().ok()?;
    record.upgrade.as_ref()
}

fn leads_here(up: &Upgrade, seen: &Observation) -> bool {
    up.to
        .as_ref()
        .is_some_and(|to| to.same(&seen.machine.booted))
}

/// Whether it must reboot now.
#[must_use]
pub fn is_due(seen: &Observation, read: &RecordRead) -> bool {
    due(seen, read).is_some_and(|at| seen.turn.now >= at)
}

/// When a trial ends of which nothing else can be known: neither what runs, nor what its record says.
#[must_use]
pub fn by_default() -> SinceBoot {
    over(policy::Health::default().deadline_seconds)
}

fn of_trial(up: &Upgrade) -> SinceBoot {
    match up.attempt.deadline_seconds {
        // Nobody can say how long this trial may take, so the default holds.
        0 => by_default(),
        seconds => over(seconds),
    }
}

const fn over(deadline_seconds: u64) -> SinceBoot {
    SinceBoot(0).plus_seconds(deadline_seconds.saturating_add(SLACK))
}

/// The agent waits for the API server and has said until when, in this boot.
fn held(up: &Upgrade, seen: &Observation) -> SinceBoot {
    let hold = up
        .attempt
        .hold
        .as_ref()
        .filter(|hold| hold.boot == seen.turn.boot);
    hold.map_or(SinceBoot(0), |hold| hold.at)
}
