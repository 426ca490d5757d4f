//! What metrics are measured in.

/// What a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A fact that holds: 1, or 0 where it does not.
    Flag,
    /// So many.
    Count,
    /// Seconds; of a time, since 1970.
    Seconds,
    /// Bytes.
    Bytes,
    /// A part of the whole, 0 to 1.
    Ratio,
}

impl Measure {
    /// What it puts to a metric's name, as Prometheus wants it (prometheus.io/docs/practices/naming): the base unit.
    #[must_use]
    pub const fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Flag | Self::Count => None,
            Self::Seconds => Some("seconds"),
            Self::Bytes => Some("bytes"),
            Self::Ratio => Some("ratio"),
        }
    }

    /// As the docs say it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flag => "0 or 1",
            Self::Count => "count",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Ratio => "ratio",
        }
    }
}
