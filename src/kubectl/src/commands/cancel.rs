//! `kubectl careen cancel`.

use super::act::{conclude, each, named, settle, told, write};
use super::choose::choose;
use super::session::Session;
use crate::cli::{Cancel, Choice};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::outcome::Done;
use crate::request;

/// Withdraws requests.
///
/// # Errors
/// See [`Failure`].
pub async fn run(asked: &Cancel, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let write = write(asked.dry_run);
    let cluster = &session.cluster;
    let nodes = choose(cluster, &Choice::from(&asked.nodes)).await?;
    let one = |node: crate::view::NodeView| async move {
        let decide = |node: &_| (request::cancel(node), request::withdrawing(node));
        let (turn, after) = settle(cluster, node, write, decide).await?;
        let detail = "withdrawn; `kubectl careen status` shows what follows".to_owned();
        Ok(told(&after.name, turn, Done::Withdrawn, detail, write))
    };
    let outcomes = each(nodes, named, one).await;
    conclude(session, &outcomes)
}
