//! What the launcher leaves for the next launcher and for whoever watches.

use serde::{Deserialize, Serialize};

use super::bundle::AgentId;

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
    /// A bundle that had shown that it runs and did not in this boot, so that another was started.
    #[serde(default)]
    pub left: Option<AgentId>,
}

/// How often a bundle was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Which.
    pub id: AgentId,
    /// How often.
    pub starts: u32,
}

impl Tried {
    /// The next start of this one.
    pub(super) fn once_more(id: &AgentId, before: Option<Self>) -> Self {
        let before = before.filter(|tried| tried.id == *id);
        Self {
            id: id.clone(),
            starts: before.map_or(0, |tried| tried.starts).saturating_add(1),
        }
    }
}
