//! The state of our Node and of the API server.

use super::api::Api;
use crate::keys::{Pause, Stray};
use crate::target::RawRequest;

/// Our Node, as this agent last saw it, and whether the API server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Whether this machine is a node of a cluster.
    pub membership: Membership,
    /// The name of our Node, once the agent has seen it.
    pub name: Option<String>,
    /// The requester's annotations.
    pub request: Asked,
    /// Why nothing new begins.
    pub paused: Option<Pause>,
    /// The value of the annotation that takes the node out of all upgrades.
    pub opted_out: Option<String>,
    /// The keys on the Node that resemble Careen's.
    pub strays: Vec<Stray>,
    /// The Node is schedulable. On a drained node this means that somebody removed the cordon:
    /// ours, or an earlier one.
    pub uncordoned: bool,
    /// The Node is cordoned, and the mark beside the cordon is of the upgrade in the record.
    pub own_cordon: bool,
    /// The exclusion label is set on the Node, and the mark beside it is of the upgrade in the
    /// record.
    pub own_exclusion: bool,
    /// A shield of ours is on the Node: a key that keeps autoscalers and remediators off, with the
    /// mark of any upgrade.
    pub shielded: bool,
    /// A mark of ours is on the Node without the cordon or the key that it marks: somebody
    /// removed that, or replaced it with their own. If the mark stayed, the next cordon would look
    /// like ours.
    pub stale_mark: bool,
    /// The API server.
    pub api: Api,
}

/// Whether this machine is a node of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// It is, or it was and is not prepared to leave: its Node is the API server's.
    #[default]
    Joined,
    /// It is a prepared host without a cluster. careen-host asks for an image, and nobody uses the
    /// machine: there is no Node, no pod and no kubelet. [`NodeView::api`] is then the API server of
    /// the management cluster, as careen-host reaches it.
    Unjoined,
}

/// What the requester asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Unknown: this agent process has not reached the API server yet.
    Unknown,
    /// Nothing.
    Nothing,
    /// This.
    This(RawRequest),
}

impl Default for NodeView {
    /// The state before the API server was first reached.
    fn default() -> Self {
        Self {
            membership: Membership::Joined,
            name: None,
            request: Asked::Unknown,
            paused: None,
            opted_out: None,
            strays: Vec::new(),
            uncordoned: false,
            own_cordon: false,
            own_exclusion: false,
            shielded: false,
            stale_mark: false,
            api: Api::Away,
        }
    }
}
