//! The result of a decision, for the Node, the Machine, Cluster API and people.

use requests::PhaseName;
use serde::{Deserialize, Serialize};
use upgrade::{Target, UpgradeId};

use super::why::Why;

/// The result of [`super::decide`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The write to the Node, if one is due.
    pub node: Option<NodeWrite>,
    /// The write to the Machine, if one is due. It precedes a request and follows every other
    /// write.
    pub mark: Option<MarkWrite>,
    /// The answer to report.
    pub answer: Answer,
    /// Decide again after this many seconds, even if nothing changes, because a deadline expires.
    pub again: Option<u64>,
}

impl Decision {
    /// A decision that reports this answer and writes nothing.
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

/// A write to a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeWrite {
    /// Request this upgrade.
    Request {
        /// The id that the agent must echo.
        id: UpgradeId,
        /// The image.
        image: Target,
        /// The version that the image must carry.
        version: String,
    },
    /// Withdraw the request.
    Withdraw,
}

/// The provider's mark on a Machine while its node works. The mark survives a restart, so that the
/// next leader can remove it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The id of the request. It is empty if the mark is damaged.
    pub id: String,
    /// When the mark was made, in seconds since 1970. The provider renews it while the node waits
    /// for a pause, a window or a soak.
    #[serde(default)]
    pub since: i64,
    /// The provider added the skip-remediation annotation. An annotation that existed before stays.
    /// The provider removes its own annotation when this becomes false.
    #[serde(default)]
    pub skip_is_ours: bool,
}

/// A write to a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkWrite {
    /// Mark the Machine and keep health checks off.
    On(Mark),
    /// Remove the mark and the provider's skip-remediation annotation.
    Off,
}

/// The state of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The Machine needs no upgrade.
    Idle,
    /// Core has not yet said what it wants.
    Untold,
    /// The upgrade is in progress.
    Working(Progress),
    /// The upgrade is blocked. It continues without intervention once the cause is gone.
    Held(Why),
    /// The upgrade failed: the node runs its old system again, or never started. A new image or a
    /// retry is needed.
    Failed(Why),
    /// The upgrade is verified.
    Done,
    /// The request was withdrawn. The provider is about to release the node, or the agent can no
    /// longer stop.
    Cancelled(Why),
}

/// Progress of an upgrade, in steps so coarse that a status that shows it rarely changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The phase, as the agent names it.
    pub phase: String,
    /// Percent, rounded down to a multiple of ten.
    pub percent: u8,
    /// What currently blocks the node.
    pub reason: Option<String>,
}

/// The maximum length of a condition's message, in characters. Kubernetes allows 32 KiB; people
/// read less.
const LONGEST: usize = 400;

/// Sanitizes foreign text for a condition, an Event and a log: one harmless line of bounded length.
#[must_use]
pub fn clean(text: &str) -> String {
    upgrade::sanitize::cut(text, LONGEST)
}

impl Answer {
    /// The message for people. It contains no time and no counter, because each change costs
    /// Cluster API about four writes.
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

    /// The stable reason for a condition.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Held(why) | Self::Failed(why) | Self::Cancelled(why) => why.code(),
            Self::Idle | Self::Untold | Self::Working(_) | Self::Done => self.class().to_owned(),
        }
    }

    /// Like [`Self::code`], but from a closed list, whatever a node reports. Used as a metric
    /// label.
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

    /// Seconds until Cluster API should ask again. The value is at least 1, because Cluster API
    /// reads a smaller value as "done".
    ///
    /// Core keeps the interval until its next call. The interval is therefore short near the end
    /// and long where a person must act.
    #[must_use]
    pub fn retry_after(&self) -> u32 {
        match self {
            Self::Working(progress) => progress.retry_after(),
            Self::Held(why) => why.retry_after(),
            Self::Idle | Self::Untold => 2,
            Self::Failed(_) | Self::Cancelled(_) => 15,
            // A "done" that the provider must not report yet.
            Self::Done => 1,
        }
    }
}

impl Progress {
    /// The phase of a request that no agent has answered.
    pub const SCHEDULED: &'static str = "Scheduled";

    fn retry_after(&self) -> u32 {
        use PhaseName as P;
        if self.phase == Self::SCHEDULED {
            // An agent accepts or refuses a request within moments.
            return 2;
        }
        match P::of(&self.phase) {
            P::Healthy | P::Blessed | P::Upgraded => 1,
            P::Trial | P::Armed => 5,
            P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained => 10,
            P::Reverting | P::Failed | P::Halted | P::Refused | P::Other => 10,
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
