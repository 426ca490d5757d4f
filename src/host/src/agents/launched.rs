//! What the launcher leaves for the next launcher and for whoever watches.

use serde::{Deserialize, Serialize};

use super::AgentId;

/// What was started last. Launchers of other versions read it: fields may be added, none changes its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// The bundle; nothing when it was the image's own.
    #[serde(default)]
    pub ran: Option<AgentId>,
    /// Its version, for people.
    #[serde(default)]
    pub release: String,
    /// A bundle that has not shown that it runs.
    #[serde(default)]
    pub tried: Option<Tried>,
}

/// How often a bundle was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Which.
    pub id: AgentId,
    /// How often.
    pub starts: u32,
}
