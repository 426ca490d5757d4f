//! What a reason is called: in the record, on the Node, in the docs.

use super::Reason;

impl Reason {
    /// The variant's name: stable, CamelCase, what Kubernetes wants as a condition's `reason`.
    #[must_use]
    pub fn code(&self) -> String {
        // serde's tag is the one place that spells the variants; asking it keeps a second list from drifting.
        serde_json::to_value(self)
            .ok()
            .and_then(|value| {
                value
                    .get("code")
                    .and_then(|code| code.as_str().map(str::to_owned))
            })
            .unwrap_or_else(|| "Unknown".to_owned())
    }

    /// Where the docs say what it means, what to look at and what to do: a page below `docs/`, with its anchor.
    #[must_use]
    pub fn runbook(&self) -> String {
        runbook(&self.code())
    }
}

/// The same of a reason of which only the code is known.
#[must_use]
pub fn runbook(code: &str) -> String {
    format!("runbook.md#{}", code.to_ascii_lowercase())
}
