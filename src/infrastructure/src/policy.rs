//! The limits, from flags.

/// The limits of the decisions, in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A host whose Lease was renewed this recently is alive. It is three heartbeats.
    pub alive: i64,
    /// A host that is silent for longer may be lost.
    pub lost: i64,
    /// The time between the two looks at an orphan.
    pub orphan_looks: i64,
    /// The time after the start in which no orphan is named.
    pub settle: i64,
    /// How long the workload cluster must be visible before a Node counts as missing.
    pub visible: i64,
    /// The percentage of hosts that may be silent at once. Above it nobody is lost.
    pub brake_percent: usize,
    /// A Node of a prepared host that no machine has for so long is marked.
    pub unmanaged: i64,
    /// Orphans are released without a person.
    pub release_orphans: bool,
    /// So many hosts may fail with one image in [`Self::image_window`].
    pub image_failures: usize,
    /// For how long the failure of an image counts.
    pub image_window: i64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            alive: 180,
            lost: 600,
            orphan_looks: 300,
            settle: 600,
            visible: 120,
            brake_percent: 20,
            unmanaged: 1200,
            release_orphans: false,
            image_failures: 3,
            image_window: 3600,
        }
    }
}
