//! The places of keys on an object.

use std::collections::BTreeMap;

/// Annotations, labels, or taints with their values.
pub(super) type Pairs = BTreeMap<String, String>;

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// An annotation.
    Annotation,
    /// A label.
    Label,
    /// A taint.
    Taint,
}

impl Place {
    /// The names in kubectl's verbs and in prose.
    pub(super) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Annotation => ("annotation", "annotate"),
            Self::Label => ("label", "label"),
            Self::Taint => ("taint", "taint"),
        }
    }
}
