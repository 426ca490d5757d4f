//! What a command did to each node.

use serde::Serialize;

use super::{Look, Tone};
use crate::exit::Exit;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Done {
    /// It was asked.
    Asked,
    /// It was asked for the same before, and the answer is yet to come.
    Joined,
    /// Its request was taken back.
    Withdrawn,
    /// It was paused.
    Paused,
    /// It was resumed.
    Resumed,
    /// There was nothing to do.
    Nothing,
    /// It does not allow it.
    Refused,
    /// One before it failed.
    Skipped,
}

/// One node's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The node.
    pub node: String,
    /// What was done.
    pub done: Done,
    /// The id of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What there is to say.
    pub detail: String,
    /// The server has only tried it.
    pub dry_run: bool,
}

impl Outcome {
    /// How the program would end for this node alone.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self.done {
            Done::Asked
            | Done::Joined
            | Done::Withdrawn
            | Done::Paused
            | Done::Resumed
            | Done::Nothing => Exit::Done,
            Done::Refused => Exit::Refused,
            Done::Skipped => Exit::Failed,
        }
    }
}

/// The worst of them.
#[must_use]
pub fn exit(outcomes: &[Outcome]) -> Exit {
    outcomes
        .iter()
        .map(Outcome::exit)
        .max()
        .unwrap_or(Exit::Done)
}

/// A line for each.
#[must_use]
pub fn outcomes(outcomes: &[Outcome], look: Look) -> String {
    outcomes.iter().map(|outcome| line(outcome, look)).collect()
}

fn line(outcome: &Outcome, look: Look) -> String {
    let tone = match outcome.done {
        Done::Asked | Done::Withdrawn | Done::Paused | Done::Resumed => Tone::Good,
        Done::Joined | Done::Nothing => Tone::Plain,
        Done::Refused | Done::Skipped => Tone::Bad,
    };
    let dry = if outcome.dry_run { " (dry run)" } else { "" };
    format!(
        "{}: {}{dry}\n",
        outcome.node,
        look.paint(tone, &outcome.detail)
    )
}
