//! Applies one action to many nodes, and reports the results.

use std::cell::Cell;
use std::future::Future;

use futures::StreamExt;
use serde_json::Value;

use super::session::Session;
use crate::api::{Cluster, Write};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::formatted;
use crate::render::outcome::{self, Done, Outcome};
use crate::request::Turn;
use crate::view::NodeView;

/// How often a write is retried because the Node changed. If others write the Node fifty times a
/// second, two in three tries may come too late. It is practically impossible that all tries do.
const TRIES: u32 = 50;

/// How many nodes are read or written at once.
pub const AT_ONCE: usize = 16;

/// Decides for the node in its current state and writes the decision. Decides again if the Node
/// changed.
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

/// The result for a node.
pub fn told(node: &str, turn: Turn, done: Done, detail: String, write: Write) -> Outcome {
    let (done, detail, dry_run) = match turn {
        Turn::Write => (done, detail, write == Write::Dry),
        Turn::Join => (Done::Joined, "this is requested already".to_owned(), false),
        Turn::Done(why) => (Done::Nothing, why, false),
        Turn::Refuse(why) => (Done::Refused, why, false),
    };
    Outcome {
        dry_run,
        ..Outcome::new(node, done, detail)
    }
}

/// Applies the action to all nodes. If the server does not answer, no further node is started,
/// because each of thousands would wait for its timeout.
pub async fn each<T, F>(
    nodes: Vec<T>,
    name: impl Fn(&T) -> String,
    act: impl Fn(T) -> F,
) -> Vec<Outcome>
where
    F: Future<Output = Result<Outcome, Failure>>,
{
    let (away, act) = (&Cell::new(false), &act);
    let one = |node: T| {
        let name = name(&node);
        async move {
            if away.get() {
                return Outcome::failed(
                    &name,
                    &Failure::Unreachable("not tried any more".to_owned()),
                );
            }
            act(node).await.unwrap_or_else(|failure| {
                away.set(away.get() || matches!(failure, Failure::Unreachable(_)));
                Outcome::failed(&name, &failure)
            })
        }
    };
    let all = futures::stream::iter(nodes.into_iter().map(one));
    all.buffered(AT_ONCE).collect().await
}

/// Prints the results.
///
/// # Errors
/// If the output cannot be written.
pub fn conclude(session: &mut Session<'_>, outcomes: &[Outcome]) -> Result<Exit, Failure> {
    let look = session.console.look;
    let text = formatted(session.format, &outcomes, |_| {
        outcome::outcomes(outcomes, look)
    })?;
    session.console.print(&text)?;
    complain(session, outcomes);
    Ok(outcome::exit(outcomes))
}

/// Prints the failures, with their nodes.
pub fn complain(session: &mut Session<'_>, outcomes: &[Outcome]) {
    for complaint in outcome::complaints(outcomes) {
        session.console.say(&complaint);
    }
}

/// A node's name, for [`each`].
pub fn named(node: &NodeView) -> String {
    node.name.clone()
}

/// Whether the write is a dry run.
pub const fn write(dry_run: bool) -> Write {
    if dry_run { Write::Dry } else { Write::Real }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn acted(failure: fn() -> Failure) -> (usize, Vec<Outcome>) {
        let tried = Cell::new(0);
        let act = |node: usize| {
            tried.set(tried.get() + 1);
            async move {
                tokio::task::yield_now().await;
                match node {
                    1 => Err(failure()),
                    _ => Ok(Outcome::new("x", Done::Paused, String::new())),
                }
            }
        };
        let outcomes = each((0..1000).collect(), usize::to_string, act).await;
        (tried.get(), outcomes)
    }

    #[tokio::test]
    async fn a_server_that_has_gone_is_not_asked_for_thousands_of_nodes() {
        let (tried, outcomes) = acted(|| Failure::Unreachable("no route".to_owned())).await;
        assert!(tried < 3 * AT_ONCE, "{tried}");
        assert_eq!(outcomes.len(), 1000, "all are told of");
        assert_eq!(outcomes[1].node, "1");
        assert_eq!(outcome::exit(&outcomes), Exit::Unreachable);
    }

    #[tokio::test]
    async fn one_node_that_cannot_be_written_is_no_obstacle_to_the_others() {
        let (tried, outcomes) = acted(|| Failure::Missing("gone".to_owned())).await;
        assert_eq!(tried, 1000);
        let failed = outcomes.iter().filter(|one| one.done == Done::Failed);
        assert_eq!(failed.count(), 1);
        assert_eq!(outcome::exit(&outcomes), Exit::Missing);
    }
}
