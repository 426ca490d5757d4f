//! The launcher's note for the next launcher and for monitoring.

use serde::{Deserialize, Serialize};

use super::bundle::AgentId;

/// What was started last. Launchers of other versions read it: fields may be added, but none may
/// change its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// The bundle; `None` if it was the image's own agent.
    #[serde(default)]
    pub ran: Option<AgentId>,
    /// Its version, for display.
    #[serde(default)]
    pub release: String,
    /// The bundle, if it has not shown yet that it runs.
    #[serde(default)]
    pub tried: Option<Tried>,
    /// A bundle that had shown that it runs, but did not in this boot, so that another was started.
    #[serde(default)]
    pub left: Option<AgentId>,
}

/// How often a bundle was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The bundle.
    pub id: AgentId,
    /// How often.
    pub starts: u32,
}

impl Tried {
    /// The note for the next start of this bundle.
    pub(super) fn once_more(id: &AgentId, before: Option<Self>) -> Self {
        let before = before.filter(|tried| tried.id == *id);
        Self {
            id: id.clone(),
            starts: before.map_or(0, |tried| tried.starts).saturating_add(1),
        }
    }
}
