//! The state of a node with regard to its request.

use requests::PhaseName;
use upgrade::report::Answer;

use crate::view::NodeView;

/// The state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The node never had a request.
    Idle,
    /// The node has a request and has not answered.
    Asked,
    /// The node has a request and is paused.
    Held,
    /// An upgrade is in progress.
    Working,
    /// The last upgrade succeeded.
    Upgraded,
    /// The last upgrade failed, and the old system runs.
    Failed,
    /// The last request was refused.
    Refused,
    /// A person must look.
    Halted,
}

impl Standing {
    /// The state of this node.
    #[must_use]
    pub fn of(node: &NodeView) -> Self {
        match (node.reply.answer, is_answered(node)) {
            // Another request may wait; the agent accepts it when this one has ended.
            (Some(Answer::InProgress), _) => Self::Working,
            (_, false) if node.asked.is_none() => Self::Idle,
            (_, false) if node.paused.is_some() => Self::Held,
            (_, false) => Self::Asked,
            (Some(Answer::Upgraded), true) => Self::Upgraded,
            (Some(Answer::Failed), true) => failed(node.reply.phase()),
            (None, true) => Self::Idle,
        }
    }

    /// Whether the current request is finished.
    #[must_use]
    pub const fn is_end(self) -> bool {
        match self {
            Self::Upgraded | Self::Failed | Self::Refused | Self::Halted => true,
            Self::Idle | Self::Asked | Self::Held | Self::Working => false,
        }
    }

    /// Whether the node has a request and has not answered.
    #[must_use]
    pub const fn is_waiting(self) -> bool {
        matches!(self, Self::Asked | Self::Held)
    }

    /// Whether the request ended badly.
    #[must_use]
    pub const fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Refused | Self::Halted)
    }

    /// The word to show. For a working node the phase is shown instead.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Idle => "-",
            Self::Asked => "Asked",
            Self::Held => "Paused",
            Self::Working => "Working",
            Self::Upgraded => "Upgraded",
            Self::Failed => "Failed",
            Self::Refused => "Refused",
            Self::Halted => "Halted",
        }
    }
}

/// What a pause means for the upgrade that is under way on the node, if there is one.
#[must_use]
pub fn under_a_pause(node: &NodeView) -> Option<&'static str> {
    (Standing::of(node) == Standing::Working).then(|| {
        if node.reply.phase().can_be_withdrawn() {
            "the upgrade under way waits where it is"
        } else {
            "the upgrade under way is too far for that, and continues"
        }
    })
}

/// The result of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The answer is still to come.
    Open,
    /// The upgrade succeeded.
    Well,
    /// The upgrade failed.
    Badly,
    /// The request was withdrawn or replaced before any agent served it.
    Dropped,
}

impl Fate {
    /// The result of the request with this id. Only the agent can identify a request without an id.
    #[must_use]
    pub fn of(node: &NodeView, id: Option<&str>) -> Self {
        let stands = node
            .asked
            .as_ref()
            .is_some_and(|asked| asked.raw.id.as_deref() == id);
        let standing = Standing::of(node);
        if stands || id.is_none() && node.asked.is_none() {
            return match standing {
                Standing::Upgraded => Self::Well,
                Standing::Failed | Standing::Refused | Standing::Halted => Self::Badly,
                Standing::Idle => Self::Dropped,
                Standing::Asked | Standing::Held | Standing::Working => Self::Open,
            };
        }
        match id.filter(|id| node.reply.id() == Some(*id)) {
            Some(_) => Self::of_answer(node.reply.answer),
            None => Self::of_the_past(node, id),
        }
    }

    const fn of_answer(answer: Option<Answer>) -> Self {
        match answer {
            Some(Answer::Upgraded) => Self::Well,
            Some(Answer::Failed) => Self::Badly,
            Some(Answer::InProgress) | None => Self::Open,
        }
    }

    /// The request may have ended, and the next one may have been made, between two looks.
    fn of_the_past(node: &NodeView, id: Option<&str>) -> Self {
        let mut past = node.history.iter().flatten();
        let own = past.find(|past| {
            past.id
                .as_ref()
                .is_some_and(|known| id == Some(known.as_str()))
        });
        own.map_or(Self::Dropped, |past| Self::of_answer(Some(past.answer)))
    }
}

const fn failed(phase: PhaseName) -> Standing {
    match phase {
        PhaseName::Halted => Standing::Halted,
        PhaseName::Refused => Standing::Refused,
        PhaseName::Accepted
        | PhaseName::Fetched
        | PhaseName::Verified
        | PhaseName::Deployed
        | PhaseName::Drained
        | PhaseName::Armed
        | PhaseName::Trial
        | PhaseName::Healthy
        | PhaseName::Blessed
        | PhaseName::Upgraded
        | PhaseName::Reverting
        | PhaseName::Failed
        | PhaseName::Other => Standing::Failed,
    }
}

/// Whether the answer belongs to the current request, or to the last one if there is none.
#[must_use]
pub fn is_answered(node: &NodeView) -> bool {
    match &node.asked {
        None => node.reply.answer.is_some(),
        Some(asked) => {
            let past = node.history.as_deref().unwrap_or_default();
            node.reply.belongs_to(&asked.raw, past)
        }
    }
}
