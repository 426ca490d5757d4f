//! How a reason's sentence shows values.

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

pub(super) fn found_instead(found: &Option<String>) -> String {
    found
        .as_ref()
        .map_or_else(String::new, |found| format!(" (found {found} instead)"))
}

/// Where to look for the cause of a difference between the two systems.
pub(super) const fn cause(image: bool) -> &'static str {
    if image {
        "the image"
    } else {
        "it on the node or in the cluster"
    }
}

pub(super) fn held_by(by: &Option<String>) -> &str {
    by.as_deref().unwrap_or(names::PAUSED)
}

pub(super) fn said_of_stage(found: &Option<u32>) -> String {
    found.map_or_else(
        || "no \"stage\"".to_owned(),
        |protocol| format!("\"stage\": {protocol}"),
    )
}

/// A time span in the largest unit of which there are at least two.
pub(super) fn span(seconds: u64) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let large = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    let (unit, name) = large.unwrap_or((1, "s"));
    format!("{} {name}", seconds / unit)
}
