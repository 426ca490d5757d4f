//! The labels of a metric.

/// The names and the values. A name is from a closed list.
pub(super) type Labels = Vec<(&'static str, String)>;
