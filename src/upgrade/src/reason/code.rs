//! The name of a reason: in the record, on the Node, in the docs.

use super::page::runbook;
use super::{ROWS, Reason, Row};

impl Reason {
    /// The variant's name: stable and in CamelCase, as Kubernetes requires of a condition's
    /// `reason`.
    #[must_use]
    pub fn code(&self) -> String {
        // Only serde's tag spells the variants; reading it avoids a second list that could drift.
        serde_json::to_value(self)
            .ok()
            .and_then(|value| {
                value
                    .get("code")
                    .and_then(|code| code.as_str().map(str::to_owned))
            })
            .unwrap_or_else(|| "Unknown".to_owned())
    }

    /// The page of the docs that says what the reason means, what to check and what to do: a path
    /// below `docs/` with an anchor.
    #[must_use]
    pub fn runbook(&self) -> String {
        runbook(&self.code())
    }
}

impl Row {
    /// The row of the reason with this code. A code that only a newer version knows has none.
    #[must_use]
    pub fn of(code: &str) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.code == code)
    }
}
