//! When a report is written: a significant change at once, mere progress at most every ten seconds.

use std::time::Duration;

use tokio::time::Instant;
use upgrade::report::Report;

/// Pause between writes that change only the percentage or the step.
const PROGRESS: Duration = Duration::from_secs(10);

/// Pause before a new phase is written, so that phases in quick succession share one write.
const PHASE: Duration = Duration::from_secs(1);

/// When to write `wanted`, given what was written last and when.
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
            report.status.unknown_keys.clone(),
            report.status.id.clone(),
        )
    };
    if answer(last) != answer(wanted) {
        return Some(at);
    }
    let stage = |report: &Report| (report.status.phase.clone(), report.lifecycle);
    let pause = if stage(last) == stage(wanted) {
        PROGRESS
    } else {
        PHASE
    };
    Some(at + pause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use upgrade::report::Answer;

    fn at(phase: &str, percent: u8) -> Report {
        let mut report = Report {
            answer: Some(Answer::InProgress),
            ..Report::default()
        };
        phase.clone_into(&mut report.status.phase);
        report.status.percent = percent;
        report
    }

    /// How long after the write of `last` the agent writes `wanted`.
    fn pause(last: &Report, wanted: &Report) -> Option<Duration> {
        let then = Instant::now();
        due(Some((last, then)), wanted).map(|at| at - then)
    }

    #[test]
    fn progress_within_a_phase_is_written_every_ten_seconds() {
        let begun = Instant::now();
        let mut written = (at("Accepted", 0), begun);
        let mut writes = Vec::new();
        for half_second in 1..=100_u8 {
            let now = begun + Duration::from_millis(500) * u32::from(half_second);
            let wanted = at("Accepted", half_second);
            let last = Some((&written.0, written.1));
            if due(last, &wanted).is_some_and(|at| at <= now) {
                writes.push((now - begun).as_secs());
                written = (wanted, now);
            }
        }
        assert_eq!(writes, [10, 20, 30, 40, 50]);
    }

    #[test]
    fn new_phase_is_written_at_most_a_second_after_the_last_write() {
        let (last, wanted) = (at("Accepted", 9), at("Fetched", 10));
        assert_eq!(pause(&last, &wanted), Some(Duration::from_secs(1)));
        let long_ago = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        let due = due(Some((&last, long_ago)), &wanted).unwrap();
        assert!(due <= Instant::now());
    }

    #[test]
    fn answer_reason_pause_and_new_upgrade_are_written_at_once() {
        let last = at("Trial", 80);
        let changed = |change: fn(&mut Report)| {
            let mut wanted = last.clone();
            change(&mut wanted);
            pause(&last, &wanted)
        };
        let at_once = Some(Duration::ZERO);
        assert_eq!(changed(|new| new.answer = Some(Answer::Upgraded)), at_once);
        let why = |new: &mut Report| new.reason = Some(upgrade::Reason::NothingKept);
        assert_eq!(changed(why), at_once);
        let paused = |new: &mut Report| new.status.paused = Some("stocktaking".to_owned());
        assert_eq!(changed(paused), at_once);
        let other = |new: &mut Report| new.status.id = "u2".parse().ok();
        assert_eq!(changed(other), at_once);
    }

    #[test]
    fn what_is_written_already_is_not_written_again() {
        assert_eq!(pause(&at("Trial", 80), &at("Trial", 80)), None);
    }

    #[test]
    fn the_first_report_waits_for_nothing() {
        assert!(due(None, &at("Accepted", 0)).is_some_and(|at| at <= Instant::now()));
    }
}
