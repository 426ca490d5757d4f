//! The page of the docs about a reason.

/// The page of a reason of which only the code is known: a path below `docs/` with an anchor.
#[must_use]
pub fn runbook(code: &str) -> String {
    format!("runbook.md#{}", code.to_ascii_lowercase())
}
