//! The units of metrics.

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A fact: 1 if it holds, otherwise 0.
    Flag,
    /// A count.
    Count,
    /// Seconds; for a time, since 1970.
    Seconds,
    /// Bytes.
    Bytes,
    /// A part of the whole, 0 to 1.
    Ratio,
}

impl Measure {
    /// The suffix of a metric's name, as Prometheus requires (prometheus.io/docs/practices/naming):
    /// the base unit.
    #[must_use]
    pub const fn suffix(self) -> Option<&'static str> {
        match self {
            Self::Flag | Self::Count => None,
            Self::Seconds => Some("seconds"),
            Self::Bytes => Some("bytes"),
            Self::Ratio => Some("ratio"),
        }
    }

    /// The unit's name in the docs.
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
