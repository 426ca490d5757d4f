//! `kubectl careen upgrade`, `retry` and `rollback`: they write requests and watch the results.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use super::Session;
use super::act::{complain, conclude, each, named, settle, told, write};
use super::choose::choose;
use super::ended::{Awaited, to_the_end};
use super::interrupt::unless_interrupted;
use super::rollout::at_pace;
use crate::api::{Cluster, Write};
use crate::cli::{Asking, Choice, Chosen};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::outcome::{self, Done, Outcome};
use crate::request::{self, Aim, Errand, Turn};
use crate::view::NodeView;
use upgrade::reason::few;

/// The message when a signal ends the watch.
pub const STANDS: &str = "the request stays, and the upgrade continues; `kubectl careen status` shows its progress, `cancel` withdraws it";

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

/// Writes the requests.
async fn put(
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
pub async fn put_anew(
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
