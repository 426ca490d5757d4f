//! `kubectl careen pause` and `resume`.

use super::act::{conclude, each, named, settle, told, write};
use super::choose::choose;
use super::session::Session;
use crate::api::Write;
use crate::cli::{BY_HAND, Choice, Pause, Resume};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::outcome::Done;
use crate::request::{self, Turn};
use crate::standing::under_a_pause;
use crate::view::NodeView;
use upgrade::sanitize;

/// Pauses nodes.
///
/// # Errors
/// See [`Failure`].
pub async fn pause(asked: &Pause, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let (write, choice) = (write(asked.dry_run), Choice::from(&asked.nodes));
    let (cluster, reason) = (&session.cluster, asked.reason.as_str());
    let nodes = choose(cluster, &choice).await?;
    let one = |node: NodeView| async move {
        let decide = |node: &NodeView| (pausing(node), request::pausing(node, Some(reason)));
        let (turn, after) = settle(cluster, node, write, decide).await?;
        let detail = paused(&after);
        Ok(told(&after.name, turn, Done::Paused, detail, write))
    };
    let outcomes = each(nodes, named, one).await;
    let exit = conclude(session, &outcomes)?;
    if write == Write::Real && exit == Exit::Done {
        warn(&choice, session);
    }
    Ok(exit)
}

/// What the pause means for the node, as it is after the write.
fn paused(node: &NodeView) -> String {
    let withdrawal = node.reply.phase().can_be_withdrawn();
    match under_a_pause(node) {
        None => "paused".to_owned(),
        Some(meaning) if withdrawal => format!("paused; {meaning}, `cancel` withdraws it"),
        Some(meaning) => format!("paused; {meaning}"),
    }
}

/// A pause with another reason stays.
fn pausing(node: &NodeView) -> Turn {
    match (&node.paused, &node.unpaused_by) {
        (Some(why), None) if node.leaving.is_none() => Turn::Done(format!("paused already: {why}")),
        // A key that only looks like a pause goes away when somebody corrects it, and a sign that
        // the node is about to go when that is called off.
        (Some(_), _) | (None, _) => Turn::Write,
    }
}

/// Warns that only the existing Nodes are paused, and no future ones.
fn warn(choice: &Choice, session: &mut Session<'_>) {
    let those = match choice {
        Choice::Named(_) => return,
        Choice::Selected(_) => "nodes that get these labels",
        Choice::All => "nodes that join",
    };
    session
        .console
        .say(&format!("note: {those} from now on are not paused"));
}

/// Ends the pause of nodes with the given reason.
///
/// # Errors
/// See [`Failure`].
pub async fn resume(asked: &Resume, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let write = write(asked.dry_run);
    let cluster = &session.cluster;
    let nodes = choose(cluster, &Choice::from(&asked.nodes)).await?;
    let one = |node: NodeView| async move {
        let why = node.paused.clone().unwrap_or_default();
        let decide = |node: &NodeView| (resuming(node, asked), request::pausing(node, None));
        let (turn, after) = settle(cluster, node, write, decide).await?;
        let detail = format!("resumed (it was paused: {why})");
        Ok(told(&after.name, turn, Done::Resumed, detail, write))
    };
    let outcomes = each(nodes, named, one).await;
    conclude(session, &outcomes)
}

/// A person who paused with a reason has not said that the pause is over.
fn resuming(node: &NodeView, asked: &Resume) -> Turn {
    let Some(why) = &node.paused else {
        return Turn::Done("not paused".to_owned());
    };
    if let Some(advice) = &node.leaving {
        return Turn::Refuse(format!("{why}; {advice}"));
    }
    if let Some(command) = &node.unpaused_by {
        return Turn::Refuse(format!("{why}; `{command}` removes it"));
    }
    // The text that was read from a Node is sanitized for a terminal.
    let is = |reason: &str| sanitize::line(reason) == *why;
    match &asked.reason {
        _ if asked.any_reason => Turn::Write,
        Some(reason) if is(reason) => Turn::Write,
        Some(_) => Turn::Done(format!("left as it is, paused: {why}")),
        None if is(BY_HAND) => Turn::Write,
        None => Turn::Refuse(format!(
            "it is paused with a reason of its own: {why}; to end that pause, repeat this reason in --reason, or use --any-reason"
        )),
    }
}
