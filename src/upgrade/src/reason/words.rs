//! How a reason's sentence shows values.

use crate::cause::Cause;
use crate::names;

/// Lines and columns count from 1; a line of 0 means the whole file.
pub(super) fn place_in_file(line: usize, column: usize) -> String {
    match line {
        0 => String::new(),
        _ => format!(" line {line}, column {column}"),
    }
}

/// A text of another program without its final full stop; the sentence adds its own.
#[must_use]
pub fn bare(text: &str) -> &str {
    text.trim_end_matches(|letter: char| letter == '.' || letter.is_whitespace())
}

/// A sentence of another program with one full stop.
pub(super) fn sentence(text: &str) -> String {
    format!("{}.", bare(text))
}

pub(super) fn found_instead(found: &Option<String>) -> String {
    found
        .as_ref()
        .map_or_else(String::new, |found| format!(" (found {found} instead)"))
}

/// What ends a pause.
pub(super) fn resume(by: &Option<String>, advice: &Option<String>) -> String {
    let remove = || {
        let by = by.as_deref().unwrap_or(names::PAUSED);
        format!("Remove {by} from the Node to continue")
    };
    advice.as_deref().map_or_else(remove, capital)
}

/// A text as the start of a sentence.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

pub(super) fn said_of_stage(found: &Option<u32>) -> String {
    found.map_or_else(
        || "no \"stage\"".to_owned(),
        |protocol| format!("\"stage\": {protocol}"),
    )
}

pub(super) fn made_before(seconds: Option<u64>) -> String {
    let before = |seconds| format!(", made {} before the running one", span(seconds));
    seconds.map(before).unwrap_or_default()
}

/// The value of the policy's `branch-change` that lets the image through.
pub(super) const fn wider_change(seconds: Option<u64>) -> &'static str {
    match seconds {
        Some(_) => "\"any\"",
        None => "\"newer\"",
    }
}

/// How a request went away before the node was armed.
pub(super) fn withdrawn(replaced_by: &Option<String>) -> String {
    match replaced_by {
        None => "withdrawn: the request was removed before the node was armed. No action is needed; ask again if that was not intended.".to_owned(),
        Some(other) => format!(
            "replaced: another request, for {other}, took the place of this one before the node was armed. No action is needed; the agent answers that request next."
        ),
    }
}

/// What a file system has too few of.
pub(super) const fn bytes_or_inodes(inodes: bool) -> &'static str {
    if inodes {
        "inodes (files and folders)"
    } else {
        "bytes"
    }
}

/// A time span in the largest unit of which there are at least two.
pub(super) fn span(seconds: u64) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let large = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    let (unit, name) = large.unwrap_or((1, "s"));
    format!("{} {name}", seconds / unit)
}

/// How the last trial without a verdict ended. A record of an older version does not say.
pub(super) fn how_it_ended(seen: &str) -> &str {
    match seen {
        "" => "panic, hang or power cut",
        _ => bare(seen),
    }
}

/// What to do after an operator's check has failed.
pub(super) fn after_a_check(cause: Cause) -> String {
    match cause {
        Cause::Image => "Fix the image, the node or the check, and ask again.".to_owned(),
        Cause::Node | Cause::ApiServer | Cause::Neighbour | Cause::Unclear => {
            format!("{}.", cause.advice())
        }
    }
}

/// What a trial saw that ended without the API server.
pub(super) fn unreached(seen: &str) -> &str {
    match seen {
        "" => "the new system did not reach the API server, or the server did not have this Node",
        _ => bare(seen),
    }
}

/// What else is known, in brackets.
pub(super) fn in_brackets(detail: &str) -> String {
    match detail {
        "" => String::new(),
        _ => format!(" ({})", bare(detail)),
    }
}
