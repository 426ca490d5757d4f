//! A Node, as far as a program that asks it needs to know.

use upgrade::UpgradeId;
use upgrade::reason::Wait;
use upgrade::report::Answer;

use crate::{Ended, Reply};

/// The prefix of a program's request ids, so that people see on the Node who made the request.
pub const ID_PREFIX: &str = "capi-";

/// A Node in a few hundred bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resource version: a write names what its writer saw.
    pub resource_version: String,
    /// Its provider id.
    pub provider_id: Option<String>,
    /// `amd64`, `arm64`, ...
    pub architecture: String,
    /// The kubelet says Ready.
    pub ready: bool,
    /// Nothing is scheduled to it.
    pub cordoned: bool,
    /// The kubelet's version, as it says it.
    pub kubelet: String,
    /// It is labelled as part of the control plane.
    pub control_plane: bool,
    /// A request is there, and it is `Scheduled`.
    pub requested: bool,
    /// The image of the request.
    pub image: Option<String>,
    /// The Kubernetes version of the request.
    pub version: Option<String>,
    /// The id of the request.
    pub id: Option<String>,
    /// Why its agent begins nothing new.
    pub paused: Option<String>,
    /// What the agent replies.
    pub reply: Reply,
    /// When it reached its last phases, by its own clock, in seconds since 1970.
    pub reached: Vec<u64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// How the request that it answers ended, if it says so and the request was ours. Few Nodes
    /// have it.
    pub ended: Option<Box<Ended>>,
}

impl NodeFacts {
    /// The agent has finished with the request that is there.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let reply = &self.reply;
        let ended = reply.is_last_word() && !reply.was_withdrawn();
        ended && self.id.is_some() && self.id.as_deref() == reply.id()
    }

    /// The agent works on a request, or has not answered the one that is there.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        let working = self.reply.answer == Some(Answer::InProgress);
        let waiting = self.requested && self.id.is_some() && !self.is_answered();
        working || waiting
    }

    /// The wait has no limit: the node is paused, or waits for its hours or its soak.
    #[must_use]
    pub fn waits_by_will(&self) -> bool {
        self.paused.is_some() || self.reply.code().and_then(Wait::of).is_some()
    }

    /// It has failed at a request of ours, which is still there.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let ours = self.requested && self.id.as_deref().is_some_and(is_ours);
        ours && self.is_answered() && self.reply.answer == Some(Answer::Failed)
    }

    /// Whether the agent says that this request has ended well, and the kubelet shows it. This is
    /// less than [`crate::verify`]: an upgraded Node may be cordoned or not Ready for a moment later.
    #[must_use]
    pub fn has_arrived(&self, id: &str, version: &str) -> bool {
        let upgraded = self.reply.answer == Some(Answer::Upgraded);
        upgraded && self.reply.id() == Some(id) && self.kubelet == version
    }

    /// Whether the Node asks for exactly this already.
    #[must_use]
    pub fn asks_for(&self, id: &UpgradeId, image: &str, version: &str) -> bool {
        let there = [&self.id, &self.image, &self.version].map(Option::as_deref);
        self.requested && there == [Some(id.as_str()), Some(image), Some(version)]
    }

    /// The id of another request that the agent works on, or that waits for it. One of ours that
    /// the agent has not accepted may be replaced.
    #[must_use]
    pub fn other_request(&self, id: &UpgradeId) -> Option<&str> {
        let other = |theirs: &&str| *theirs != id.as_str();
        if self.reply.answer == Some(Answer::InProgress) {
            return self.reply.id().or(Some("without an id")).filter(other);
        }
        let waits = self.requested && !self.is_answered();
        let waiting = self.id.as_deref().filter(|_| waits);
        waiting.filter(other).filter(|id| !is_ours(id))
    }
}

/// Whether a request is ours by its id, whichever process made it and whatever it asked for.
#[must_use]
pub fn is_ours(id: &str) -> bool {
    id.starts_with(ID_PREFIX)
}
