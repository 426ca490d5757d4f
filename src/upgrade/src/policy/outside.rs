//! A value of the policy out of its range.

/// A value out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The key.
    pub field: &'static str,
    /// The accepted form.
    pub accepted: &'static str,
    /// The element of a list that is wrong, for display.
    pub wrong: Option<String>,
}
