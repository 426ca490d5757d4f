//! When a report is written: what matters at once, what merely moves at most every ten seconds.

use std::time::Duration;

use tokio::time::Instant;
use upgrade::report::Report;

/// Pause between writes that only move percent or step.
const PROGRESS: Duration = Duration::from_secs(10);

/// Pause before a new phase is written, so that phases that follow at once share a write.
const PHASE: Duration = Duration::from_secs(1);

/// When `wanted` is to be written, given what was written last and when.
#[must_use]
pub fn due(written: Option<(&Report, Instant)>, wanted: &Report) -> Option<Instant> {
    let Some((last, at)) = written else {
        return Some(Instant::now());
    };
    if last == wanted {
        return None;
    }
    let answer = |report: &Report| {
        (
            report.answer,
            report.now().cloned(),
            report.status.paused.clone(),
            report.status.id.clone(),
        )
    };
    if answer(last) != answer(wanted) {
        return Some(at);
    }
    Some(
        at + if last.status.phase == wanted.status.phase {
            PROGRESS
        } else {
            PHASE
        },
    )
}
