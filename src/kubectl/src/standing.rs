//! Where a node stands with its request.

use requests::PhaseName;
use upgrade::report::Answer;

use crate::view::NodeView;

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was ever asked of it.
    Idle,
    /// It is asked and has not answered.
    Asked,
    /// It is asked and paused.
    Held,
    /// An upgrade is under way.
    Working,
    /// The last upgrade went well.
    Upgraded,
    /// The last one did not; the old system serves.
    Failed,
    /// The last request was refused.
    Refused,
    /// A person must look.
    Halted,
}

impl Standing {
    /// Of this node.
    #[must_use]
    pub fn of(node: &NodeView) -> Self {
        match (node.reply.answer, is_answered(node)) {
            // Another request may wait behind it: it is taken when this one has ended.
            (Some(Answer::InProgress), _) => Self::Working,
            (_, false) if node.asked.is_none() => Self::Idle,
            (_, false) if node.paused.is_some() => Self::Held,
            (_, false) => Self::Asked,
            (Some(Answer::Upgraded), true) => Self::Upgraded,
            (Some(Answer::Failed), true) => failed(node.reply.phase()),
            (None, true) => Self::Idle,
        }
    }

    /// Whether nothing more comes of the request that stands.
    #[must_use]
    pub const fn is_end(self) -> bool {
        match self {
            Self::Upgraded | Self::Failed | Self::Refused | Self::Halted => true,
            Self::Idle | Self::Asked | Self::Held | Self::Working => false,
        }
    }

    /// Whether it is asked and has not answered.
    #[must_use]
    pub const fn is_waiting(self) -> bool {
        matches!(self, Self::Asked | Self::Held)
    }

    /// Whether it ended badly.
    #[must_use]
    pub const fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Refused | Self::Halted)
    }

    /// The word that is shown; of a node that works, the phase is.
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

/// What has become of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its answer is yet to come.
    Open,
    /// It went well.
    Well,
    /// It did not.
    Badly,
    /// It was taken back, or another stands in its place, and it was never served.
    Dropped,
}

impl Fate {
    /// Of the request with this id; of one without an id, which the agent alone tells from others.
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

    /// It may have ended, and the next one been asked for, between two looks.
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

/// Whether the answer that stands is to the request that stands, or to the last one where none does.
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
