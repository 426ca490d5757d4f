//! The last upgrades of a node. The record keeps them, and [`crate::names::HISTORY`] has them as
//! JSON: a list of [`Past`], the latest first. A writer drops the oldest until the list fits; a
//! reader ignores what it does not know.

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::bill::Seconds;
use crate::id::UpgradeId;
use crate::reason::Reason;
use crate::target::RawRequest;
use crate::version::Version;

/// The longest history, in bytes.
pub const BYTES: usize = 4 * 1024;

/// The most upgrades in the history.
pub const LENGTH: usize = 10;

/// The longest part of an image's name that is kept, in characters. A name that parses has no more
/// than about 400.
const IMAGE: usize = 400;

/// The longest part of a reason's text that is kept, in characters. The code and the runbook say
/// the rest.
const REASON: usize = 160;

/// Longer than any upgrade that is a useful estimate, in seconds: the clock was set meanwhile, or
/// the node was switched off.
const LONGEST: u64 = 6 * 3600;

/// The code of a request that was withdrawn or replaced.
const WITHDRAWN: &str = "Withdrawn";

/// An upgrade that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Past {
    /// Its id. A refused request may have had no id that can be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<UpgradeId>,
    /// How it ended: `Upgraded` or `Failed`.
    pub answer: Answer,
    /// The requested image.
    pub image: String,
    /// The Kubernetes version that ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Version>,
    /// The Kubernetes version of the image, once that was known; before that, the one that the
    /// request named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Version>,
    /// When it began, in seconds since 1970 by the node's clock.
    pub began: u64,
    /// When it ended, in seconds since 1970 by the node's clock.
    pub ended: u64,
    /// How long it took, if the agent measured that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Seconds>,
    /// Trial boots.
    #[serde(default)]
    pub tries: u32,
    /// The code of the reason, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The reason's text, possibly cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Past {
    /// A request that is refused now.
    pub(crate) fn refused(
        raw: &RawRequest,
        id: Option<UpgradeId>,
        reason: &Reason,
        wall: u64,
    ) -> Self {
        let past = Self {
            id,
            to: asked_version(raw),
            ..Self::new(raw, wall)
        };
        past.failed(reason)
    }

    pub(crate) fn new(raw: &RawRequest, wall: u64) -> Self {
        Self {
            id: None,
            answer: Answer::Upgraded,
            image: cut(raw.image.as_deref().unwrap_or_default(), IMAGE),
            from: None,
            to: None,
            began: wall,
            ended: wall,
            seconds: None,
            tries: 0,
            code: None,
            reason: None,
        }
    }

    pub(crate) fn failed(self, reason: &Reason) -> Self {
        Self {
            answer: Answer::Failed,
            code: Some(reason.code()),
            reason: Some(cut(&reason.to_string(), REASON)),
            ..self
        }
    }

    /// Whether it did nothing to the node: its request was withdrawn, replaced or refused. A person
    /// who tries ten requests in a row still wants to see the upgrades before them.
    fn is_void(&self) -> bool {
        let is_withdrawn = || self.code.as_deref() == Some(WITHDRAWN);
        let is_refused = || self.seconds.is_none() && self.began == self.ended;
        self.answer == Answer::Failed && self.tries == 0 && (is_withdrawn() || is_refused())
    }

    /// How long it was at work, in seconds, if that is a useful estimate for the next upgrade.
    /// Waits for the window and pauses differ each time, so they are not included.
    #[must_use]
    pub fn worked(&self) -> Option<u64> {
        self.taught(|seconds| seconds.working)
    }

    /// How long it kept the node from its users, in seconds, if that is a useful estimate for the
    /// next upgrade. Fetching took nothing from the users, and a pause under the cordon differs
    /// each time.
    #[must_use]
    pub fn kept(&self) -> Option<u64> {
        self.taught(|seconds| seconds.cordoned.min(seconds.working))
    }

    fn taught(&self, counted: fn(Seconds) -> u64) -> Option<u64> {
        let whole = self.answer == Answer::Upgraded && self.tries > 0;
        let lasted = self.ended.saturating_sub(self.began);
        let seconds = self.seconds.map_or(lasted, counted);
        Some(seconds).filter(|_| whole).filter(teaches)
    }
}

/// Whether this number of seconds is a useful estimate of an upgrade's duration.
#[must_use]
pub fn teaches(seconds: &u64) -> bool {
    (1..=LONGEST).contains(seconds)
}

/// The version that a request names, for an image of which nothing was known yet.
pub(crate) fn asked_version(raw: &RawRequest) -> Option<Version> {
    raw.kubernetes.as_deref()?.parse().ok()
}

fn cut(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}

/// The usual duration of an upgrade: the median of known durations, in seconds. `None` if there are
/// none.
#[must_use]
pub fn usual(mut known: Vec<u64>) -> Option<u64> {
    known.sort_unstable();
    known.get(known.len() / 2).copied()
}

/// How long upgrades usually keep this node from its users, in seconds, by its own history. `None`
/// if there is none.
pub(crate) fn usually_kept(past: &[Past]) -> Option<u64> {
    usual(past.iter().filter_map(Past::kept).collect())
}

/// Adds the latest upgrade at the front and drops what tells least.
pub(crate) fn remember(past: &mut Vec<Past>, latest: Past) {
    past.insert(0, latest);
    while past.len() > LENGTH {
        drop_one(past);
    }
}

/// Drops the upgrade that tells least, and of several the oldest. The latest one stays: it is the
/// answer to the request on the Node.
fn drop_one(past: &mut Vec<Past>) {
    let older = past.iter().enumerate().skip(1);
    let least = older.max_by_key(|(at, past)| (past.is_void(), *at));
    if let Some((at, _)) = least {
        past.remove(at);
    } else {
        past.clear();
    }
}

/// As JSON of at most [`BYTES`]; what tells least is dropped first.
#[must_use]
pub fn json(past: &[Past]) -> String {
    let mut past = past.to_vec();
    past.truncate(LENGTH);
    loop {
        let text = serde_json::to_string(&past).unwrap_or_default();
        if text.len() <= BYTES {
            return text;
        }
        drop_one(&mut past);
    }
}
