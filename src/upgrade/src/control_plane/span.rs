//! Spans of time, for sentences.

/// A span of seconds, in its largest unit.
pub(super) fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7200 => (seconds / 60, "min"),
        7200..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit}")
}
