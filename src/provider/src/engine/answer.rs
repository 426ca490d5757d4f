//! What a decision says: to the Node, to the Machine, to Cluster API and to people.

use serde::{Deserialize, Serialize};
use upgrade::{Target, UpgradeId};

use super::Why;

/// The result of [`super::decide`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The write to the Node, if one is due.
    pub node: Option<NodeWrite>,
    /// The write to the Machine, if one is due. It goes before a request and after everything else.
    pub mark: Option<MarkWrite>,
    /// What is said.
    pub answer: Answer,
    /// Look again after so many seconds, even if nothing changes: a deadline.
    pub again: Option<u64>,
}

impl Decision {
    /// Says this, writes nothing.
    #[must_use]
    pub const fn say(answer: Answer) -> Self {
        Self {
            node: None,
            mark: None,
            answer,
            again: None,
        }
    }
}

/// What is written to a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeWrite {
    /// Ask for this.
    Request {
        /// The id that the agent must echo.
        id: UpgradeId,
        /// The image.
        image: Target,
        /// The version that the image must carry.
        version: String,
    },
    /// Take back what was asked.
    Withdraw,
}

/// Our mark on a Machine while its node works. It outlives us, so that whoever comes next takes it off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The id of the request; empty in a mark that somebody damaged.
    pub id: String,
    /// When it was made, or made anew for a node that waited by somebody's will, in seconds since 1970.
    #[serde(default)]
    pub since: i64,
    /// The annotation against remediation is ours; one that stood there before stays. Where it stops being ours it goes.
    #[serde(default)]
    pub skip_is_ours: bool,
}

/// What is written to a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkWrite {
    /// Mark it, keep health checks off.
    On(Mark),
    /// Take both off again.
    Off,
}

/// How an upgrade stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing is wanted of this Machine.
    Idle,
    /// Core has not said yet what it wants.
    Untold,
    /// It goes on.
    Working(Progress),
    /// Something is in the way; it goes on by itself once that is gone.
    Held(Why),
    /// The node tried and is back on its old system, or never began. A new image or a new try is asked for.
    Failed(Why),
    /// Verified.
    Done,
    /// Nobody wants it any more; the node is about to be left alone, or cannot be stopped any more.
    Cancelled(Why),
}

/// How far it is, in steps coarse enough that a status that shows it changes rarely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The phase, as the agent names it.
    pub phase: String,
    /// Percent, rounded down to tens.
    pub percent: u8,
    /// What is in the way on the node at the moment.
    pub reason: Option<String>,
}

/// The longest text that goes into a condition's message, in characters. Kubernetes allows 32 KiB; people read less.
const LONGEST: usize = 400;

/// Text from elsewhere made fit for a condition, an Event and a log: one harmless line of bounded
/// length.
#[must_use]
pub fn clean(text: &str) -> String {
    upgrade::plain::cut(text, LONGEST)
}

impl Answer {
    /// The sentence for a person. Without clock or counters: each change of it costs Cluster API about four writes.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Idle => "no upgrade is requested".to_owned(),
            Self::Untold => "waiting for Cluster API to say what the Machine should be".to_owned(),
            Self::Working(progress) => progress.to_string(),
            Self::Held(why) => format!("held: {why}"),
            Self::Failed(why) => format!("failed: {why}"),
            Self::Done => "upgraded".to_owned(),
            Self::Cancelled(why) => format!("cancelled: {why}"),
        }
    }

    /// The stable word for a condition's reason.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Held(why) | Self::Failed(why) | Self::Cancelled(why) => why.code(),
            Self::Idle | Self::Untold | Self::Working(_) | Self::Done => self.class().to_owned(),
        }
    }

    /// As [`Self::code`], but one of a closed list, whatever a node says: for counting.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::Untold => "Waiting",
            Self::Working(_) => "InProgress",
            Self::Held(why) | Self::Cancelled(why) => why.class(),
            Self::Failed(_) => "Failed",
            Self::Done => "Upgraded",
        }
    }

    /// Seconds until Cluster API should ask again; at least 1, for anything less means "done" to it.
    ///
    /// Core keeps the interval whatever happens meanwhile, so it is short where the end is near and long where a person must act.
    #[must_use]
    pub fn retry_after(&self) -> u32 {
        match self {
            Self::Working(progress) => match progress.phase.as_str() {
                "Healthy" | "Blessed" | "Upgraded" => 1,
                // An agent takes it up, or refuses, within moments.
                "Scheduled" => 2,
                "Trial" | "Armed" => 5,
                _ => 10,
            },
            Self::Held(why) => why.retry_after(),
            Self::Idle | Self::Untold => 2,
            Self::Failed(_) | Self::Cancelled(_) => 15,
            // A done that may not be said yet.
            Self::Done => 1,
        }
    }
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} %", self.phase, self.percent)?;
        self.reason
            .as_ref()
            .map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}
