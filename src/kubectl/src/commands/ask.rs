//! `kubectl careen upgrade`, `retry` and `rollback`: they write requests and watch the results.

use std::collections::BTreeSet;

use super::act::{conclude, write};
use super::choose::choose;
use super::ended::to_the_end;
use super::interrupt::unless_interrupted;
use super::put::{STANDS, put, tell, to_answer};
use super::rollout::at_pace;
use super::session::Session;
use crate::api::Write;
use crate::cli::{Asking, Choice, Chosen};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::request::{Aim, Errand, Turn};
use crate::view::NodeView;
use upgrade::reason::few;

/// Writes the requests for the chosen nodes.
///
/// # Errors
/// See [`Failure`].
pub async fn run(
    nodes: &Chosen,
    asking: &Asking,
    aim: Aim,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    if asking.timeout.is_some() && !asking.watches() {
        let why = "--timeout needs --watch: without --watch the command does not wait";
        return Err(Failure::Usage(why.to_owned()));
    }
    let choice = Choice::from(nodes);
    let nodes = choose(&session.cluster, &choice).await?;
    let errand = Errand {
        aim,
        soak: asking.soak,
        named: matches!(choice, Choice::Named(_)),
    };
    errand.is_clear(&nodes).map_err(Failure::Usage)?;
    ask(nodes, &errand, asking, session).await
}

async fn ask(
    nodes: Vec<NodeView>,
    errand: &Errand,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    warn_of_machines(&nodes, session);
    if !asking.yes && !asking.dry_run {
        consent(&nodes, errand, asking, session)?;
    }
    if let Some(pace) = asking.pace(nodes.len()) {
        return at_pace(nodes, errand, (asking, pace), session).await;
    }
    if asking.watch {
        return unless_interrupted(STANDS, ask_and_watch(nodes, errand, asking, session)).await;
    }
    let outcomes = put(nodes, errand, write(asking.dry_run), session).await;
    conclude(session, &outcomes)
}

/// Asks for confirmation once for all nodes, if there is anything to request.
fn consent(
    nodes: &[NodeView],
    errand: &Errand,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<(), Failure> {
    let willing = nodes.iter().filter_map(|node| {
        let (turn, wish) = errand.decide(node, node);
        let wish = wish.filter(|_| turn == Turn::Write)?;
        Some((node.name.as_str(), errand.words(&wish, node)))
    });
    let (names, images): (Vec<&str>, BTreeSet<String>) = willing.unzip();
    let at_once = asking.pace(nodes.len()).map(|pace| pace.at_once);
    let how = match (names.len(), at_once) {
        (0, _) => return Ok(()),
        (1, _) => "It drains and reboots".to_owned(),
        (_, Some(1)) => "They drain and reboot one after the other".to_owned(),
        (_, Some(width)) => format!("They drain and reboot, {width} at once at most"),
        (_, None) => {
            "Each drains and reboots as soon as it is ready, and waits for no other".to_owned()
        }
    };
    let what = match images.len() {
        1 => images.into_iter().collect(),
        several => format!("what each was asked for ({several} images)"),
    };
    session
        .console
        .consent(&format!("Ask {} for {what}? {how}.", few(&names)))
}

/// Warns that Cluster API manages a Machine's Node, and does not know of requests made here.
fn warn_of_machines(nodes: &[NodeView], session: &mut Session<'_>) {
    let owned = nodes.iter().filter_map(|node| {
        let machine = node.machine.as_deref()?;
        Some((node.name.as_str(), machine))
    });
    let owned: Vec<(&str, &str)> = owned.collect();
    let whose = match owned.as_slice() {
        [] => return,
        [(node, machine)] => format!("{node} belongs to Machine {machine}"),
        several => {
            let names: Vec<&str> = several.iter().map(|(node, _)| *node).collect();
            format!("{} belong to Machines", few(&names))
        }
    };
    session.console.say(&format!(
        "note: {whose}: ask there, or the version there stays the old one"
    ));
}

async fn ask_and_watch(
    nodes: Vec<NodeView>,
    errand: &Errand,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let outcomes = put(nodes, errand, Write::Real, session).await;
    let exit = tell(&outcomes, session);
    let awaited = to_answer(&outcomes);
    if awaited.is_empty() {
        return Ok(exit);
    }
    match to_the_end(awaited, asking.timeout, session).await {
        Ok(end) => Ok(exit.max(end)),
        Err(failure) if failure.exit() < exit => {
            session.console.complain(&failure);
            Ok(exit)
        }
        Err(failure) => Err(failure),
    }
}
