//! When a trial without a verdict must end, whatever became of the agent. Called by `careen-stage deadman`.

use crate::decide::RecordRead;
use crate::observe::Observation;
use crate::policy;
use crate::record::Upgrade;

/// Seconds that the agent has beyond its own deadline to write its verdict down.
const SLACK: u64 = 60;

/// Whether the deadman must reboot now. `seen` needs no request, API server or health.
#[must_use]
pub fn is_due(seen: &Observation, read: &RecordRead) -> bool {
    // A system that is the default was blessed in this boot: its argument stays on the command line, its trial is over.
    if !seen.on_trial() {
        return false;
    }
    let upgrade = read
        .as_ref()
        .ok()
        .and_then(|record| record.upgrade.as_ref());
    let mine = upgrade.filter(|up| up.to.as_ref().is_some_and(|to| to.same(&seen.booted)));
    match mine {
        Some(up) if up.phase.is_proven() || held(up, seen) => false,
        Some(up) if up.deadline_seconds > 0 => over(seen, up.deadline_seconds),
        // Nobody can say how long this trial may take, so the default holds.
        Some(_) | None => over(seen, policy::Health::default().deadline_seconds),
    }
}

fn over(seen: &Observation, deadline_seconds: u64) -> bool {
    seen.now.0 / 1000 >= deadline_seconds.saturating_add(SLACK)
}

/// The agent waits for the API server and has said until when.
fn held(up: &Upgrade, seen: &Observation) -> bool {
    up.hold
        .as_ref()
        .is_some_and(|hold| hold.boot == seen.boot && seen.now < hold.at)
}
