//! What our Node and the API server show.

use super::Api;
use crate::keys::{Pause, Stray};
use crate::target::RawRequest;

/// Our Node, as far as this agent has seen it, and whether the API server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// The name of our Node, once it was seen.
    pub name: Option<String>,
    /// The requester's annotations.
    pub request: Asked,
    /// Why nothing new begins.
    pub paused: Option<Pause>,
    /// The value of the annotation that takes the node out of all upgrades.
    pub opted_out: Option<String>,
    /// The keys on the Node that are nearly ours.
    pub strays: Vec<Stray>,
    /// Pods may come to the Node. Once it was drained: somebody has removed the cordon, ours or
    /// the one that was there before.
    pub uncordoned: bool,
    /// The Node is cordoned, and the mark beside that is of the upgrade that the record speaks of.
    pub own_cordon: bool,
    /// Load balancers are told to leave the Node out, and the mark beside that is of the upgrade
    /// that the record speaks of.
    pub own_exclusion: bool,
    /// A mark of ours is on the Node without the cordon or the label that it marked: somebody
    /// removed that, or has set their own in its place. A mark that stays makes the next cordon
    /// look like ours.
    pub stale_mark: bool,
    /// The API server.
    pub api: Api,
}

/// What the requester asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Not known: the API server has not been reached in this life of the agent.
    Unknown,
    /// Nothing.
    Nothing,
    /// This.
    This(RawRequest),
}

impl Default for NodeView {
    /// Before the API server was first reached.
    fn default() -> Self {
        Self {
            name: None,
            request: Asked::Unknown,
            paused: None,
            opted_out: None,
            strays: Vec::new(),
            uncordoned: false,
            own_cordon: false,
            own_exclusion: false,
            stale_mark: false,
            api: Api::Away,
        }
    }
}
