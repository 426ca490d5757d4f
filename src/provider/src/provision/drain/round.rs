//! One look at the pods of a Node.

use infrastructure::Moving;

/// The pods of a Node after they were asked to leave.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// How many were not away yet.
    pub left: usize,
    /// What holds the first one that is held.
    pub held: Option<String>,
    /// The one with volumes whose turn it is.
    pub moving: Option<Moving>,
}
