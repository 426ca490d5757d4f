//! The requests of a command: written to each node, reported, and awaited.

use k8s_openapi::jiff::Timestamp;

use super::act::{complain, each, named, settle, told};
use super::ended::Awaited;
use super::session::Session;
use crate::api::{Cluster, Write};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::outcome::{self, Done, Outcome};
use crate::request::{self, Errand, Turn};
use crate::view::NodeView;

/// The message when a signal ends the watch.
pub const STANDS: &str = "the request stays, and the upgrade continues; `kubectl careen status` shows its progress, `cancel` withdraws it";

/// Writes the requests.
pub async fn put(
    nodes: Vec<NodeView>,
    errand: &Errand,
    write: Write,
    session: &Session<'_>,
) -> Vec<Outcome> {
    let cluster = &session.cluster;
    let ask = |node: NodeView| async move {
        let now = node.clone();
        one(cluster, errand, (&node, now), write).await
    };
    each(nodes, named, ask).await
}

/// Writes the requests when the nodes may have been read hours ago.
pub async fn put_again(
    nodes: Vec<NodeView>,
    errand: &Errand,
    session: &Session<'_>,
) -> Vec<Outcome> {
    let cluster = &session.cluster;
    let ask = |node: NodeView| async move {
        let now = cluster.node(&node.name).await?.into();
        one(cluster, errand, (&node, now), Write::Real).await
    };
    each(nodes, named, ask).await
}

/// Decides for one node: `first` is its state at the start.
async fn one(
    cluster: &Cluster,
    errand: &Errand,
    (first, now): (&NodeView, NodeView),
    write: Write,
) -> Result<Outcome, Failure> {
    let id = request::new_id(Timestamp::now()).map_err(|bad| Failure::Usage(bad.to_string()))?;
    let decide = |node: &NodeView| {
        let (turn, wish) = errand.decide(first, node);
        let change = wish.map(|wish| request::asking(node, &wish, &id));
        (turn, change.unwrap_or_default())
    };
    let (turn, after) = settle(cluster, now, write, decide).await?;
    let stands = after.asked.as_ref().and_then(|asked| asked.raw.id.clone());
    let id = match turn {
        Turn::Write => Some(id.to_string()),
        Turn::Join => stands,
        Turn::Done(_) | Turn::Refuse(_) => None,
    };
    let detail = format!("asked for {}", after.image().unwrap_or_default());
    let outcome = told(&after.name, turn, Done::Asked, detail, write);
    Ok(Outcome { id, ..outcome })
}

/// Prints the results to standard error, because standard output shows the progress that follows.
pub fn tell(outcomes: &[Outcome], session: &mut Session<'_>) -> Exit {
    for outcome in outcomes {
        if outcome.done != Done::Failed {
            let line = format!("{}: {}", outcome.node, outcome.detail);
            session.console.say(&line);
        }
    }
    complain(session, outcomes);
    outcome::exit(outcomes)
}

/// The requests whose answer is still to come.
pub fn to_answer(outcomes: &[Outcome]) -> Vec<Awaited> {
    let asked = outcomes
        .iter()
        .filter(|outcome| matches!(outcome.done, Done::Asked | Done::Joined));
    let awaited = asked.map(|outcome| Awaited {
        node: outcome.node.clone(),
        id: outcome.id.clone(),
    });
    awaited.collect()
}
