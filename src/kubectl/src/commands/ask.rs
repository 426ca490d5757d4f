//! `kubectl careen upgrade`, `retry` and `rollback`: asking, and watching what comes of it.

use k8s_openapi::jiff::Timestamp;

use super::Session;
use super::act::{conclude, each, settle, told, write};
use super::choose::choose;
use super::ended::to_the_end;
use crate::api::{Cluster, Write};
use crate::cli::{Asking, Choice, Chosen};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::outcome::{self, Done, Outcome};
use crate::request::{self, Turn, Wish};
use crate::view::NodeView;

/// What is wished of one node, or why nothing can be.
type Wished = (NodeView, Result<Wish, String>);

/// Asks nodes for what is wished of each.
///
/// # Errors
/// See [`Failure`].
pub async fn run(
    nodes: &Chosen,
    asking: &Asking,
    wish: impl Fn(&NodeView) -> Result<Wish, String>,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let nodes = choose(&session.cluster, &Choice::from(nodes)).await?;
    let wished = nodes.into_iter().map(|node| {
        let wish = wish(&node);
        (node, wish)
    });
    ask(wished.collect(), asking, session).await
}

async fn ask(
    wished: Vec<Wished>,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    warn_of_machines(&wished, session)?;
    if !asking.yes && !asking.dry_run {
        consent(&wished, asking, session)?;
    }
    if asking.one_by_one {
        return one_by_one(wished, asking, session).await;
    }
    if asking.watch {
        return ask_and_watch(wished, asking, session).await;
    }
    let (outcomes, failure) = put(wished, write(asking.dry_run), session).await;
    conclude(session, &outcomes, failure)
}

/// One question for all of them, where anything is to be asked at all.
fn consent(wished: &[Wished], asking: &Asking, session: &mut Session<'_>) -> Result<(), Failure> {
    let will = |(node, wish): &&Wished| {
        let turn = wish.as_ref().map(|wish| request::upgrade(node, wish));
        turn.is_ok_and(|turn| turn == Turn::Write)
    };
    let names: Vec<&str> = wished
        .iter()
        .filter(will)
        .map(|(node, _)| node.name.as_str())
        .collect();
    let how = match (names.len(), asking.one_by_one) {
        (0, _) => return Ok(()),
        (1, _) => "It drains and reboots",
        (_, true) => "They drain and reboot one after the other",
        (_, false) => "Each drains and reboots as soon as it is ready, and waits for no other",
    };
    let image = wished.iter().find_map(|(_, wish)| wish.as_ref().ok());
    let image = image.map(|wish| wish.image.as_str()).unwrap_or_default();
    session
        .console
        .consent(&format!("Ask {} for {image}? {how}.", names.join(", ")))
}

/// Of a Machine's Node somebody else takes care, and does not hear of what is asked here.
fn warn_of_machines(wished: &[Wished], session: &mut Session<'_>) -> Result<(), Failure> {
    for (node, _) in wished {
        if let Some(machine) = &node.machine {
            let name = &node.name;
            let note = format!(
                "note: {name} belongs to Machine {machine}: ask there, or its version there stays the old one"
            );
            session.console.say(&note)?;
        }
    }
    Ok(())
}

/// Writes the requests.
async fn put(
    wished: Vec<Wished>,
    write: Write,
    session: &Session<'_>,
) -> (Vec<Outcome>, Option<Failure>) {
    let cluster = &session.cluster;
    each(wished, |wished| one(cluster, wished, write)).await
}

async fn one(cluster: &Cluster, (node, wish): Wished, write: Write) -> Result<Outcome, Failure> {
    let wish = match wish {
        Ok(wish) => wish,
        Err(why) => {
            let turn = Turn::Refuse(why);
            return Ok(told(&node.name, turn, Done::Asked, String::new(), write));
        }
    };
    let id = request::new_id(Timestamp::now()).map_err(|bad| Failure::Usage(bad.to_string()))?;
    let decide = |node: &NodeView| {
        let turn = request::upgrade(node, &wish);
        (turn, request::asking(node, &wish, &id))
    };
    let (turn, after) = settle(cluster, node, write, decide).await?;
    let asked = turn == Turn::Write;
    let detail = format!("asked for {}", wish.image);
    let mut outcome = told(&after.name, turn, Done::Asked, detail, write);
    outcome.id = asked.then(|| id.to_string());
    Ok(outcome)
}

async fn ask_and_watch(
    wished: Vec<Wished>,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let (outcomes, failure) = put(wished, Write::Real, session).await;
    // What follows on standard output is how they get on.
    for outcome in &outcomes {
        session
            .console
            .say(&format!("{}: {}", outcome.node, outcome.detail))?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let names = to_answer(&outcomes);
    let exit = outcome::exit(&outcomes);
    if names.is_empty() {
        return Ok(exit);
    }
    Ok(exit.max(to_the_end(names, asking.timeout, session).await?))
}

/// The nodes from which an answer is to come.
fn to_answer(outcomes: &[Outcome]) -> Vec<String> {
    let asked = outcomes
        .iter()
        .filter(|outcome| matches!(outcome.done, Done::Asked | Done::Joined));
    asked.map(|outcome| outcome.node.clone()).collect()
}

/// Stops at the first that does not end well: what failed there would most likely fail on the others too.
async fn one_by_one(
    wished: Vec<Wished>,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let mut left = wished.into_iter();
    while let Some(next) = left.next() {
        let name = next.0.name.clone();
        let exit = ask_and_watch(vec![next], asking, session).await?;
        if exit != Exit::Done {
            let rest: Vec<String> = left.map(|(node, _)| node.name).collect();
            if !rest.is_empty() {
                let rest = rest.join(", ");
                session
                    .console
                    .say(&format!("stopped at {name}; not asked: {rest}"))?;
            }
            return Ok(exit);
        }
    }
    Ok(Exit::Done)
}
