//! The minors of Cluster API.

/// A minor of Cluster API. Its module is in `cluster-api/<version>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// v1.13.
    V1_13,
    /// v1.14.
    V1_14,
}

impl Version {
    /// The newest.
    pub const NEWEST: Self = Self::V1_14;

    /// The folder of its module.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1_13 => "v1.13",
            Self::V1_14 => "v1.14",
        }
    }
}
