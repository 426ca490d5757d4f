//! The result of one check.

use serde::Serialize;

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it must be.
    Ok,
    /// An upgrade works, but something is worse than it could be, or could not be checked.
    Warn,
    /// An upgrade would be refused, or could not be trusted.
    Bad,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub name: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What the check found.
    pub found: String,
    /// How to fix it, or empty if there is nothing to fix.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fix: String,
}

impl Finding {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Verdict::Ok, found.into(), "")
    }

    pub(super) fn warn(name: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self::new(name, Verdict::Warn, found.into(), fix)
    }

    pub(super) fn bad(name: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self::new(name, Verdict::Bad, found.into(), fix)
    }

    pub(super) fn new(name: &'static str, verdict: Verdict, found: String, fix: &str) -> Self {
        let fix = fix.to_owned();
        Self {
            name,
            verdict,
            found,
            fix,
        }
    }
}
