//! Renders what a command did to each node.

use serde::Serialize;

use super::look::{Look, Tone};
use crate::exit::Exit;
use crate::failure::Failure;
use upgrade::reason::few;

/// What the command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Done {
    /// It sent the request.
    Asked,
    /// The node already had the same request, and its answer is still to come.
    Joined,
    /// It withdrew the request.
    Withdrawn,
    /// It paused the node.
    Paused,
    /// It resumed the node.
    Resumed,
    /// There was nothing to do.
    Nothing,
    /// The node's state does not allow it.
    Refused,
    /// The Node could not be read or written.
    Failed,
}

/// The result for one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The node.
    pub node: String,
    /// What the command did.
    pub done: Done,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The details.
    pub detail: String,
    /// It was a dry run.
    pub dry_run: bool,
    /// The exit code for what failed.
    #[serde(skip)]
    pub failed: Option<Exit>,
}

impl Outcome {
    /// A result without a failure.
    #[must_use]
    pub fn new(node: &str, done: Done, detail: String) -> Self {
        Self {
            node: node.to_owned(),
            done,
            id: None,
            detail,
            dry_run: false,
            failed: None,
        }
    }

    /// A result with a failure.
    #[must_use]
    pub fn failed(node: &str, failure: &Failure) -> Self {
        Self {
            failed: Some(failure.exit()),
            ..Self::new(node, Done::Failed, failure.to_string())
        }
    }

    /// The exit code for this node alone.
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
            Done::Failed => match self.failed {
                Some(exit) => exit,
                None => Exit::Unreachable,
            },
        }
    }
}

/// The highest exit code.
#[must_use]
pub fn exit(outcomes: &[Outcome]) -> Exit {
    outcomes
        .iter()
        .map(Outcome::exit)
        .max()
        .unwrap_or(Exit::Done)
}

/// A line for each result, except those that [`complaints`] covers.
#[must_use]
pub fn outcomes(outcomes: &[Outcome], look: Look) -> String {
    let told = outcomes
        .iter()
        .filter(|outcome| outcome.done != Done::Failed);
    told.map(|outcome| line(outcome, look)).collect()
}

/// The failures, each with all nodes that it concerns.
#[must_use]
pub fn complaints(outcomes: &[Outcome]) -> Vec<String> {
    let mut by_detail: Vec<(&str, Vec<&str>)> = Vec::new();
    for outcome in outcomes
        .iter()
        .filter(|outcome| outcome.done == Done::Failed)
    {
        let (node, detail) = (outcome.node.as_str(), outcome.detail.as_str());
        match by_detail.iter_mut().find(|(known, _)| *known == detail) {
            Some((_, nodes)) => nodes.push(node),
            None => by_detail.push((detail, vec![node])),
        }
    }
    let told = by_detail.into_iter();
    told.map(|(detail, nodes)| format!("error: {}: {detail}", few(&nodes)))
        .collect()
}

fn line(outcome: &Outcome, look: Look) -> String {
    let tone = match outcome.done {
        Done::Asked | Done::Withdrawn | Done::Paused | Done::Resumed => Tone::Good,
        Done::Joined | Done::Nothing => Tone::Plain,
        Done::Refused | Done::Failed => Tone::Bad,
    };
    let dry = if outcome.dry_run { " (dry run)" } else { "" };
    format!(
        "{}: {}{dry}\n",
        outcome.node,
        look.paint(tone, &outcome.detail)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_every_failed_node_and_the_worst_sets_the_code() {
        let away = Failure::Unreachable("no route".to_owned());
        let all = [
            Outcome::new("a", Done::Paused, "paused".to_owned()),
            Outcome::failed("b", &away),
            Outcome::failed("c", &Failure::Missing("no c".to_owned())),
            Outcome::failed("d", &away),
        ];
        assert_eq!(outcomes(&all, Look::default()), "a: paused\n");
        assert_eq!(
            complaints(&all),
            [
                "error: b, d: cannot reach the API server: no route",
                "error: c: no c"
            ]
        );
        assert_eq!(exit(&all), Exit::Missing);
    }

    #[test]
    fn programs_are_told_too_of_what_could_not_be_done() {
        let failed = Outcome::failed("b", &Failure::Missing("no b".to_owned()));
        let expected =
            serde_json::json!({ "node": "b", "done": "failed", "detail": "no b", "dryRun": false });
        assert_eq!(serde_json::to_value(failed).unwrap(), expected);
    }
}
