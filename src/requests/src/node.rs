//! A Node, reduced to what a requesting program needs.

use upgrade::UpgradeId;
use upgrade::reason::Wait;
use upgrade::report::Answer;

use crate::ended::EndedRequest;
use crate::id::is_ours;
use crate::phase::PhaseName;
use crate::reply::Reply;

/// A Node in a few hundred bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resource version. A writer states the version that it saw.
    pub resource_version: String,
    /// Its provider id.
    pub provider_id: Option<String>,
    /// For example `amd64` or `arm64`.
    pub architecture: String,
    /// The kubelet reports Ready.
    pub ready: bool,
    /// It is unschedulable.
    pub cordoned: bool,
    /// The kubelet's version, unparsed.
    pub kubelet: String,
    /// It has the control plane label.
    pub control_plane: bool,
    /// It has a request, and the request is `Scheduled`.
    pub requested: bool,
    /// The image of the request.
    pub image: Option<String>,
    /// The Kubernetes version of the request.
    pub version: Option<String>,
    /// The id of the request.
    pub id: Option<String>,
    /// Why its agent starts nothing new, as this program reads the Node.
    pub paused: Option<String>,
    /// The pause or the opt-out of a person. Unlike [`Self::paused`] it is no sign of another program,
    /// and not careen-provider's own mark.
    pub left_alone: Option<String>,
    /// The agent's reply.
    pub reply: Reply,
    /// When it reached its last phases, by its own clock, in seconds since 1970.
    pub reached: Vec<u64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// How the answered request ended, if the Node reports it and the request has this program's
    /// prefix. Few Nodes have it.
    pub ended: Option<Box<EndedRequest>>,
}

impl NodeFacts {
    /// The agent has finished the current request.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let reply = &self.reply;
        let ended = reply.is_last_word() && !reply.was_withdrawn();
        ended && self.id.is_some() && self.id.as_deref() == reply.id()
    }

    /// The agent works on a request, or has not answered the current one.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        let working = self.reply.answer == Some(Answer::InProgress);
        let waiting = self.requested && self.id.is_some() && !self.is_answered();
        working || waiting
    }

    /// Why its agent starts nothing new, as this program or else the agent reads the Node. A newer
    /// agent may know a sign that this program does not. A node that is off keeps its agent's last
    /// status, so the status counts only while the Node is Ready.
    #[must_use]
    pub fn pause(&self) -> Option<&str> {
        let status = self.reply.status.as_ref().filter(|_| self.ready);
        let told = status.and_then(|status| status.paused.as_deref());
        self.paused.as_deref().or(told)
    }

    /// The wait has no limit: the node is paused, or waits for its window or its soak.
    #[must_use]
    pub fn waits_by_will(&self) -> bool {
        self.pause().is_some() || self.reply.code().and_then(Wait::of).is_some()
    }

    /// It failed, and the failed request has this program's prefix and is still there.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let ours = self.requested && self.id.as_deref().is_some_and(is_ours);
        ours && self.is_answered() && self.reply.answer == Some(Answer::Failed)
    }

    /// Its upgrade has halted, and nobody has uncordoned the node since. The agent takes that too as
    /// the sign that a person has looked at the node.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        let halted = self.reply.phase() == PhaseName::Halted || self.reply.holds_the_lock();
        self.reply.answer == Some(Answer::Failed) && halted && self.cordoned
    }

    /// Whether the agent reports success for this request, and the kubelet shows it. This is less
    /// than [`crate::verify`]: an upgraded Node may later be cordoned or not Ready for a moment.
    #[must_use]
    pub fn has_arrived(&self, id: &str, version: &str) -> bool {
        let upgraded = self.reply.answer == Some(Answer::Upgraded);
        upgraded && self.reply.id() == Some(id) && self.kubelet == version
    }

    /// Whether the Node already has exactly this request.
    #[must_use]
    pub fn asks_for(&self, id: &UpgradeId, image: &str, version: &str) -> bool {
        let there = [&self.id, &self.image, &self.version].map(Option::as_deref);
        self.requested && there == [Some(id.as_str()), Some(image), Some(version)]
    }

    /// The id of another request that the agent works on or that waits. A request with this
    /// program's prefix that the agent has not accepted may be replaced.
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
