//! `kubectl careen history`.

use super::choose::choose;
use super::session::Session;
use crate::cli::{Choice, History};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::past_upgrades::{self, NodePast};
use crate::render::{formatted, history};
use crate::view::NodeView;
use upgrade::reason::few;

/// Shows the last upgrades of nodes.
///
/// # Errors
/// See [`Failure`].
pub async fn run(asked: &History, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let choice = Choice::from(&asked.nodes);
    let nodes = choose(&session.cluster, &choice).await?;
    let told = past_upgrades::of(&nodes);
    say(&nodes, &told, session);
    // With one named node, the column of names is not needed.
    let names = !matches!(&choice, Choice::Named(names) if names.len() == 1);
    let look = session.console.look;
    let text = formatted(session.format, &told, |wide| {
        history::history(&told, names, wide, look)
    })?;
    if !told.is_empty() || session.format.is_some() {
        session.console.print(&text)?;
    }
    Ok(Exit::Done)
}

/// Prints remarks that the list does not contain.
fn say(nodes: &[NodeView], told: &[NodePast], session: &mut Session<'_>) {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    if told.is_empty() {
        let none = format!("no upgrade of {} has ended yet", few(&names));
        return session.console.say(&none);
    }
    let told_of = |name: &str| told.iter().any(|told| told.node == name);
    let short = nodes.iter().filter(|node| node.history.is_none());
    let short: Vec<&str> = short
        .map(|node| node.name.as_str())
        .filter(|name| told_of(name))
        .collect();
    if !short.is_empty() {
        session.console.say(&format!(
            "note: the agent keeps no history on {}; only the last upgrade is known there",
            few(&short)
        ));
    }
}
