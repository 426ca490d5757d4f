//! A Machine's Node, as far as it matters, and what its agent has said of what we ask.

use upgrade::UpgradeId;
use upgrade::reason::Wait;
use upgrade::report::{Answer, Status};

use super::Ended;
use crate::names;

/// The agent's code for a request that was taken back: not an answer to one that stands.
const WITHDRAWN: &str = "Withdrawn";

/// The Machine's Node.
#[derive(Clone, Copy, Debug)]
pub enum NodeView<'a> {
    /// The workload cluster cannot be seen, and why.
    Away(&'a str),
    /// It can be seen and has no such Node.
    Missing,
    /// As it was seen last.
    Seen(&'a NodeFacts),
}

/// A Node, as far as it matters: a few hundred bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resource version: who writes says what it saw.
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
    /// The request that stands there, if it is `Scheduled`.
    pub requested: bool,
    /// The image that is asked for.
    pub image: Option<String>,
    /// The version that is asked for.
    pub version: Option<String>,
    /// The id of what is asked for.
    pub id: Option<String>,
    /// Why nothing new may be begun on it.
    pub paused: Option<String>,
    /// The agent's answer.
    pub answer: Option<Answer>,
    /// The agent's details; nothing when there are none or they cannot be read.
    pub status: Option<Status>,
    /// When it reached its last phases, by its own clock, in seconds since 1970.
    pub reached: Vec<u64>,
    /// There are details that cannot be read.
    pub unreadable: bool,
    /// Why it failed.
    pub failure: Option<String>,
    /// How the request that it answers ended, where it says so and that was one of ours. Not on most Nodes.
    pub ended: Option<Box<Ended>>,
}

impl NodeFacts {
    /// The answer to this request, and to no other.
    #[must_use]
    pub fn answer_to(&self, id: &UpgradeId) -> Option<(Answer, &Status)> {
        let status = self.status.as_ref()?;
        (status.id.as_ref() == Some(id))
            .then_some(self.answer?)
            .map(|answer| (answer, status))
    }

    /// The id that the agent answers to at the moment.
    #[must_use]
    pub fn answered_id(&self) -> Option<&str> {
        self.status.as_ref()?.id.as_ref().map(UpgradeId::as_str)
    }

    /// The agent says that the request was taken back. Where it stands again that is no answer to it: the agent has not looked yet.
    #[must_use]
    pub fn was_withdrawn(&self) -> bool {
        let code = self
            .status
            .as_ref()
            .and_then(|status| status.code.as_deref());
        self.answer == Some(Answer::Failed) && code == Some(WITHDRAWN)
    }

    /// The request that stands has the agent's last word.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let ended = match self.answer {
            Some(Answer::Upgraded | Answer::Failed) => !self.was_withdrawn(),
            Some(Answer::InProgress) | None => false,
        };
        ended && self.id.is_some() && self.id.as_deref() == self.answered_id()
    }

    /// It works on a request, or has one before it that it has not answered.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        let working = self.answer == Some(Answer::InProgress);
        let waiting = self.requested && self.id.is_some() && !self.is_answered();
        working || waiting
    }

    /// It says that it waits for as long as somebody likes: it is paused, or waits for its hours or
    /// its soak.
    #[must_use]
    pub fn waits_by_will(&self) -> bool {
        let status = self.status.as_ref();
        let code = status.and_then(|status| status.code.as_deref());
        self.paused.is_some() || code.and_then(Wait::of).is_some()
    }

    /// It has failed at a request of ours, and that still stands.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let ours = self.requested && self.id.as_deref().is_some_and(is_ours);
        ours && self.is_answered() && self.answer == Some(Answer::Failed)
    }
}

/// Whether a request is ours by its id, whichever of our processes wrote it and whatever was wanted then.
pub(super) fn is_ours(id: &str) -> bool {
    id.starts_with(names::ID_PREFIX)
}

/// A static pod of a control-plane node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticPod {
    /// `kube-apiserver`, ...
    pub component: String,
    /// The tag of its image, when it has one.
    pub version: Option<String>,
    /// It is Ready.
    pub ready: bool,
}

impl StaticPod {
    /// It serves the API.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.component == "kube-apiserver"
    }
}
