//! Doing one thing to each of many nodes, and saying what came of it.

use std::future::Future;

use futures::StreamExt;
use serde_json::Value;

use super::Session;
use crate::api::{Cluster, Write};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::formatted;
use crate::render::outcome::{self, Done, Outcome};
use crate::request::Turn;
use crate::view::NodeView;

/// How often a write is decided anew because somebody was faster. Where others write the Node fifty times a second, two in
/// three tries may come too late; that all of these do is out of the question.
const TRIES: u32 = 50;

/// How many nodes are written at once.
const AT_ONCE: usize = 16;

/// Writes what is decided on the node as it is, and decides anew when somebody was faster.
///
/// # Errors
/// See [`Failure`].
pub async fn settle(
    cluster: &Cluster,
    mut node: NodeView,
    write: Write,
    decide: impl Fn(&NodeView) -> (Turn, Value),
) -> Result<(Turn, NodeView), Failure> {
    for _ in 0..TRIES {
        let (turn, change) = decide(&node);
        if turn != Turn::Write {
            return Ok((turn, node));
        }
        match cluster.change(&node.name, &change, write).await {
            Ok(after) => return Ok((turn, after.into())),
            Err(Failure::Conflict) => node = cluster.node(&node.name).await?.into(),
            Err(other) => return Err(other),
        }
    }
    Err(Failure::Conflict)
}

/// What is said of a node.
pub fn told(node: &str, turn: Turn, done: Done, detail: String, write: Write) -> Outcome {
    let (done, detail, dry_run) = match turn {
        Turn::Write => (done, detail, write == Write::Dry),
        Turn::Join => (Done::Joined, "asked for this already".to_owned(), false),
        Turn::Done(why) => (Done::Nothing, why, false),
        Turn::Refuse(why) => (Done::Refused, why, false),
    };
    Outcome {
        node: node.to_owned(),
        done,
        id: None,
        detail,
        dry_run,
    }
}

/// Does it to all of them. The first failure is given, after what came of the others.
pub async fn each<T, F>(nodes: Vec<T>, act: impl Fn(T) -> F) -> (Vec<Outcome>, Option<Failure>)
where
    F: Future<Output = Result<Outcome, Failure>>,
{
    let results: Vec<_> = futures::stream::iter(nodes.into_iter().map(act))
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut failure = None;
    let mut outcomes = Vec::new();
    for result in results {
        match result {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    (outcomes, failure)
}

/// Says what came of it.
///
/// # Errors
/// The failure, once the rest is said.
pub fn conclude(
    session: &mut Session<'_>,
    outcomes: &[Outcome],
    failure: Option<Failure>,
) -> Result<Exit, Failure> {
    let look = session.console.look;
    let text = formatted(session.format, &outcomes, |_| {
        outcome::outcomes(outcomes, look)
    })?;
    session.console.print(&text)?;
    match failure {
        Some(failure) => Err(failure),
        None => Ok(outcome::exit(outcomes)),
    }
}

/// Whether it is only tried.
pub const fn write(dry_run: bool) -> Write {
    if dry_run { Write::Dry } else { Write::Real }
}
