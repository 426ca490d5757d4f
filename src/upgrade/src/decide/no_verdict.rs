//! The verdict on an image whose trials all ended without one. A panic, a watchdog and the deadman
//! are evidence against the image, except a panic that the kernel blames on something else. A power
//! cut and a reset from outside (a node-health operator, a person at the power switch) leave none,
//! and then the image is not blamed.

use super::situation::Situation;
use crate::observe::{Cause, TrialEnd, TrialNote};
use crate::reason::Reason;
use crate::record::Upgrade;

/// Why the upgrade ends.
pub(super) fn no_verdict(up: &Upgrade, s: &Situation<'_>) -> Reason {
    let end = evidence(up, s);
    Reason::NoVerdict {
        commit: up.short_commit(),
        tries: up.attempt.tries,
        seen: format!("{}; {}{}", how_far(up, s), shown(end), details(s)),
        cause: match end {
            Some(end) if end.blames_image() => Cause::Image,
            Some(_) | None => Cause::Unclear,
        },
    }
}

/// What ended the last trial, or an earlier one, where something shows it. Evidence against the
/// image in one of them outweighs the others.
pub(super) fn evidence(up: &Upgrade, s: &Situation<'_>) -> Option<TrialEnd> {
    let ends = [s.seen.machine.last_trial.end, up.attempt.ended_by];
    let mut known = ends.into_iter().flatten().filter(|end| end.is_known());
    let against = known.clone().find(|end| end.blames_image());
    against.or_else(|| known.next())
}

/// The file that shows how the last trial ended, and its last errors. They are of any program, and
/// decide nothing.
fn details(s: &Situation<'_>) -> String {
    let last = &s.seen.machine.last_trial;
    let file = last.shown_by.as_ref().filter(|_| last.end.is_some());
    let file = file.map_or_else(String::new, |file| format!(" ({file} shows it)"));
    match last.errors.as_slice() {
        [] => file,
        errors => format!(
            "{file}; the last errors in its journal: {}",
            errors.join(" | ")
        ),
    }
}

fn how_far(up: &Upgrade, s: &Situation<'_>) -> String {
    let Some(guarded) = &up.attempt.guarded else {
        return "the last one did not get as far as its guard".to_owned();
    };
    let noted = s.seen.machine.last_trial.noted.as_ref();
    match noted.filter(|note| note.boot == *guarded) {
        None => "the last one passed its guard, and its agent noted nothing".to_owned(),
        Some(TrialNote { seconds, open, .. }) => {
            let open = open.as_ref();
            let open = open.map_or_else(
                || "with every check passed".to_owned(),
                |open| format!("and waited for {open}"),
            );
            format!("the last one was at work {seconds} s after its boot {open}")
        }
    }
}

const fn shown(end: Option<TrialEnd>) -> &'static str {
    match end {
        Some(end) => end.shown(),
        None => {
            "nothing shows a panic or a hang, so a power cut or a reset from outside may have ended it, and the image is not blamed"
        }
    }
}
