//! How the answered request of a Node ended and what it cost, according to the Node's own history.
//! It is only for metrics: no decision depends on it. Everybody who may write the Node may write
//! the history too, so impossible values are dropped.

use serde_json::{Value, json};
use upgrade::bill::Seconds;
use upgrade::history::Past;
use upgrade::record::Reached;
use upgrade::report::{Answer, Status};
use upgrade::{Phase, Reason};

use crate::id::is_ours;
use crate::phase::PhaseName;

/// The longest history that is read, in bytes. The agent's own has at most
/// [`upgrade::history::BYTES`]; an annotation can have 256 KiB.
const LONGEST: usize = 16 * 1024;

/// The maximum duration of an upgrade, in seconds. A longer one means that a clock was set, or that
/// somebody invented the value.
const MONTH: u64 = 30 * 24 * 3600;

/// The maximum number of trial boots. The agent's policy allows at most ten for one request.
const MOST_TRIES: u32 = 100;

/// The label for a code that this version does not know.
const OTHER: &str = "Other";

/// How a request ended, in the terms of the agent's own metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The new system runs.
    Upgraded,
    /// The old system runs after at least one trial boot.
    FellBack,
    /// The old system runs, and there was no trial boot.
    Failed,
    /// The agent refused before any change.
    Refused,
    /// A person must look.
    Halted,
}

/// A request that the agent has finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRequest {
    /// The outcome.
    pub outcome: Outcome,
    /// The code of the reason: one of [`Reason`]'s, or `Other`; empty without a reason.
    pub reason: String,
    /// When it ended, in seconds since 1970 by the node's clock.
    pub at: u64,
    /// The number of trial boots.
    pub tries: u32,
    /// The total costs.
    pub took: Took,
    /// Seconds of work in each of [`Phase::NAMES`], summed over all visits, without waiting.
    pub phases: [Option<u32>; Phase::NAMES.len()],
}

/// The costs of a request, in seconds. A value is absent if the agent did not report it or if it is
/// impossible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    /// From start to end, without waiting.
    pub working: Option<u32>,
    /// Outside the operator's window, or paused.
    pub waiting: Option<u32>,
    /// Under the upgrade's cordon.
    pub cordoned: Option<u32>,
    /// Without pods.
    pub drained: Option<u32>,
    /// Not Ready.
    pub not_ready: Option<u32>,
}

impl Outcome {
    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upgraded => "upgraded",
            Self::FellBack => "fell_back",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Halted => "halted",
        }
    }

    /// A history does not distinguish these failures, but the Node's status does.
    fn of(past: &Past, phase: PhaseName) -> Option<Self> {
        match (past.answer, phase) {
            (Answer::InProgress, _) => None,
            (Answer::Upgraded, _) => Some(Self::Upgraded),
            (Answer::Failed, PhaseName::Halted) => Some(Self::Halted),
            (Answer::Failed, PhaseName::Refused) => Some(Self::Refused),
            (Answer::Failed, _) if past.tries > 0 => Some(Self::FellBack),
            (Answer::Failed, _) => Some(Self::Failed),
        }
    }
}

impl EndedRequest {
    /// The first entry of the history, if it belongs to the request in the status and that request
    /// has this program's prefix. `reached` says when the request reached its phases.
    #[must_use]
    pub fn of(status: &Status, reached: &[Reached], history: &str) -> Option<Self> {
        let id = status.id.as_ref().filter(|id| is_ours(id.as_str()))?;
        let past = first(history)?;
        let is_its = past.id.as_ref() == Some(id) && past.tries <= MOST_TRIES;
        let outcome = Outcome::of(&past, PhaseName::of(&status.phase)).filter(|_| is_its)?;
        Some(Self {
            outcome,
            reason: past.code.as_deref().map_or_else(String::new, known),
            at: past.ended,
            tries: past.tries,
            took: past.seconds.map(Took::from).unwrap_or_default(),
            phases: Phase::NAMES.map(|phase| worked_in(phase, reached)),
        })
    }
}

/// The first entry must be readable. The others were counted when they were first.
fn first(history: &str) -> Option<Past> {
    let within = Some(history).filter(|text| text.len() <= LONGEST)?;
    let all: Vec<Value> = serde_json::from_str(within).ok()?;
    serde_json::from_value(all.into_iter().next()?).ok()
}

/// Returns a known code unchanged, because labels must come from a closed list. serde knows the
/// variants, so no second list can drift from them. It reads an unknown code as
/// [`Reason::Unheard`], and for a known one it reports missing fields.
fn known(code: &str) -> String {
    let read = serde_json::from_value(json!({ "code": code }));
    let known = !matches!(read, Ok(Reason::Unheard));
    let label = if known { code } else { OTHER };
    label.to_owned()
}

/// Nothing if the clock went back during one of the visits.
fn worked_in(phase: &str, reached: &[Reached]) -> Option<u32> {
    let visits = reached.iter().zip(reached.iter().skip(1));
    let of_it = visits.filter(|(begin, _)| begin.phase == phase);
    let worked = of_it.map(|(begin, end)| {
        let lasted = end.at.checked_sub(begin.at)?;
        Some(lasted.saturating_sub(begin.waited))
    });
    let all = worked.reduce(|sum, next| sum?.checked_add(next?));
    all.flatten().and_then(sane)
}

fn sane(seconds: u64) -> Option<u32> {
    let within = Some(seconds).filter(|seconds| *seconds <= MONTH)?;
    u32::try_from(within).ok()
}

impl From<Seconds> for Took {
    fn from(seconds: Seconds) -> Self {
        Self {
            working: sane(seconds.working),
            waiting: sane(seconds.waiting),
            cordoned: sane(seconds.cordoned),
            drained: sane(seconds.drained),
            not_ready: sane(seconds.not_ready),
        }
    }
}
