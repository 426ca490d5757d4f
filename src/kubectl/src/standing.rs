//! Where a node stands with its request.

use upgrade::report::{Answer, Status};
use upgrade::{Digest, Target, UpgradeId};

use crate::stage::Stage;
use crate::view::{Asked, NodeView};

/// So many characters of an image the history keeps at least.
const TOLD: usize = 400;

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
        match (node.answer, is_answered(node)) {
            // Another request may wait behind it: it is taken when this one has ended.
            (Some(Answer::InProgress), _) => Self::Working,
            (_, false) if node.asked.is_none() => Self::Idle,
            (_, false) if node.paused.is_some() => Self::Held,
            (_, false) => Self::Asked,
            (Some(Answer::Upgraded), true) => Self::Upgraded,
            (Some(Answer::Failed), true) => failed(node.stage()),
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
        let told = node.status.as_ref().and_then(|status| status.id.as_ref());
        match id.filter(|id| told.is_some_and(|told| told.as_str() == *id)) {
            Some(_) => Self::of_answer(node.answer),
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

const fn failed(stage: Stage) -> Standing {
    match stage {
        Stage::Halted => Standing::Halted,
        Stage::Refused => Standing::Refused,
        Stage::Accepted
        | Stage::Fetched
        | Stage::Verified
        | Stage::Deployed
        | Stage::Drained
        | Stage::Armed
        | Stage::Trial
        | Stage::Healthy
        | Stage::Blessed
        | Stage::Upgraded
        | Stage::Reverting
        | Stage::Failed
        | Stage::Other => Standing::Failed,
    }
}

/// Whether the answer that stands is to the request that stands, or to the last one where none does.
#[must_use]
pub fn is_answered(node: &NodeView) -> bool {
    match &node.asked {
        None => node.answer.is_some(),
        Some(asked) => answers(node, asked),
    }
}

fn answers(node: &NodeView, asked: &Asked) -> bool {
    match (&node.status, node.answer) {
        (_, None) => false,
        (Some(status), Some(answer)) => echoes(status, asked) && fits(node, answer, status, asked),
        // An answer whose details cannot be read: nothing tells the requests apart.
        (None, Some(_)) => true,
    }
}

/// A request without an id is told from an older one by the agent alone.
fn echoes(status: &Status, asked: &Asked) -> bool {
    match (&asked.raw.id, &status.id) {
        (None, _) => true,
        (Some(wanted), Some(told)) => wanted == told.as_str(),
        // A record that cannot be read has no id, and an id that cannot be read is not repeated.
        (Some(wanted), None) => {
            Stage::of(&status.phase) == Stage::Halted || wanted.parse::<UpgradeId>().is_err()
        }
    }
}

/// By hand another image may be set beside the id that the last request has left, or beside none: what was answered before is no answer to it. Its agent
/// tells them apart, and may be silent.
fn fits(node: &NodeView, answer: Answer, status: &Status, asked: &Asked) -> bool {
    let Some(image) = asked.raw.image.as_deref() else {
        return true;
    };
    // A record that cannot be read halts whatever is asked.
    if Stage::of(&status.phase) == Stage::Halted {
        return true;
    }
    let ended = answer != Answer::InProgress;
    let mut past = node.history.iter().flatten().filter(|_| ended);
    match past.find(|past| past.id == status.id) {
        Some(past) => is_told(image, &past.image),
        None => leads_to(image, status.to.as_ref()),
    }
}

/// Whether it is the image that the history tells, which may be cut there.
fn is_told(image: &str, told: &str) -> bool {
    image == told || told.chars().count() >= TOLD && image.starts_with(told)
}

/// Whether it may be this commit: a ref may be any, and so may the digest of a container image.
fn leads_to(image: &str, to: Option<&Digest>) -> bool {
    let image: Option<Target> = image.parse().ok();
    let commit = image.and_then(|image| image.commit);
    commit.is_none() || to.is_none() || commit.as_ref() == to
}
