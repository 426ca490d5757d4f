//! A recording of one upgrade: its two systems, and the Node's states meanwhile.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A recording.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// The system before the upgrade.
    pub old: System,
    /// The requested system.
    pub new: System,
    /// The Node at each of its changes since the request, the oldest first.
    pub moments: Vec<Moment>,
}

/// One of the two systems.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct System {
    /// Its commit.
    pub commit: String,
    /// The version of its kubelet; none if it was never seen.
    pub kubelet: Option<String>,
}

/// A change of the Node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Moment {
    /// The number of disk requests so far.
    pub after: usize,
    /// The phase that the Node reported.
    pub phase: String,
    /// Our fields on the Node and the cordon, as a patch that restores them.
    pub node: Value,
}
