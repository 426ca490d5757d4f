//! `kubectl careen history`.

use upgrade::history::Past;
use upgrade::report::Answer;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::{formatted, history};
use crate::standing::{Standing, is_answered};
use crate::view::NodeView;

/// Shows the last upgrades of a node.
///
/// # Errors
/// See [`Failure`].
pub async fn run(name: &str, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let node: NodeView = session.cluster.node(name).await?.into();
    let past = match &node.history {
        Some(past) => past.clone(),
        None => last(&node).into_iter().collect(),
    };
    let look = session.console.look;
    let text = formatted(session.format, &past, |wide| {
        history::history(&past, wide, look)
    })?;
    match (&node.history, past.is_empty()) {
        (_, true) => session
            .console
            .say(&format!("no upgrade of {name} has ended yet")),
        (None, false) => session
            .console
            .say("note: the agent on this node keeps no history; this is its last upgrade"),
        (Some(_), false) => {}
    }
    if !past.is_empty() || session.format.is_some() {
        session.console.print(&text)?;
    }
    Ok(Exit::Done)
}

/// The last upgrade, as far as its status tells it.
fn last(node: &NodeView) -> Option<Past> {
    let standing = Standing::of(node);
    let status = node
        .status
        .as_ref()
        .filter(|_| standing.is_end() && is_answered(node))?;
    Some(Past {
        id: status.id.clone(),
        answer: if standing.is_bad() {
            Answer::Failed
        } else {
            Answer::Upgraded
        },
        image: node.image().unwrap_or_default().to_owned(),
        from: None,
        to: status.to_version.clone(),
        began: status.reached.first()?.at,
        ended: status.reached.last()?.at,
        tries: status.tries,
        code: status.code.clone(),
        reason: status.reason.clone(),
    })
}
