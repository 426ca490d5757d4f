//! `kubectl careen upgrade`, `retry` and `rollback`: asking, and watching what comes of it.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;

use super::Session;
use super::act::{complain, conclude, each, settle, told, write};
use super::choose::choose;
use super::ended::{Awaited, to_the_end};
use super::interrupt::unless_interrupted;
use super::rollout::at_pace;
use crate::api::{Cluster, Write};
use crate::cli::{Asking, Choice, Chosen};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::few::few;
use crate::render::outcome::{self, Done, Outcome};
use crate::request::{self, Turn, Wish};
use crate::view::NodeView;

/// What is said when a signal ends the watching.
pub const STANDS: &str = "what was asked for stands, and goes on; `kubectl careen status` shows how far it is, `cancel` takes it back";

/// What is wished of one node, or why nothing can be.
pub type Wished = (NodeView, Result<Wish, String>);

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
    if asking.timeout.is_some() && !asking.watches() {
        let why = "--timeout wants --watch: without it nothing is waited for";
        return Err(Failure::Usage(why.to_owned()));
    }
    let nodes = choose(&session.cluster, &Choice::from(nodes)).await?;
    let wished = nodes.into_iter().map(|node| {
        let wish = wish(&node).map(|wish| wish.soaking(asking.soak));
        (node, wish)
    });
    ask(wished.collect(), asking, session).await
}

async fn ask(
    wished: Vec<Wished>,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    warn_of_machines(&wished, session);
    if !asking.yes && !asking.dry_run {
        consent(&wished, asking, session)?;
    }
    if let Some(pace) = asking.pace(wished.len()) {
        return at_pace(wished, pace, asking, session).await;
    }
    if asking.watch {
        return unless_interrupted(STANDS, ask_and_watch(wished, asking, session)).await;
    }
    let outcomes = put(wished, write(asking.dry_run), session).await;
    conclude(session, &outcomes)
}

/// One question for all of them, where anything is to be asked at all.
fn consent(wished: &[Wished], asking: &Asking, session: &mut Session<'_>) -> Result<(), Failure> {
    let willing = wished.iter().filter_map(|(node, wish)| {
        let wish = wish.as_ref().ok()?;
        let will = request::upgrade(node, wish) == Turn::Write;
        will.then_some((node.name.as_str(), wish.image.as_str()))
    });
    let (names, images): (Vec<&str>, BTreeSet<&str>) = willing.unzip();
    let at_once = asking.pace(wished.len()).map(|pace| pace.at_once);
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

/// Of a Machine's Node somebody else takes care, and does not hear of what is asked here.
fn warn_of_machines(wished: &[Wished], session: &mut Session<'_>) {
    let owned = wished.iter().filter_map(|(node, _)| {
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
async fn put(wished: Vec<Wished>, write: Write, session: &Session<'_>) -> Vec<Outcome> {
    let cluster = &session.cluster;
    let name = |(node, _): &Wished| node.name.clone();
    each(wished, name, |wished| one(cluster, wished, write)).await
}

/// The same when hours may have gone by since they were read.
pub async fn put_anew(wished: Vec<Wished>, session: &Session<'_>) -> Vec<Outcome> {
    let cluster = &session.cluster;
    let name = |(node, _): &Wished| node.name.clone();
    let anew = |(node, wish): Wished| async move {
        let node = cluster.node(&node.name).await?.into();
        one(cluster, (node, wish), Write::Real).await
    };
    each(wished, name, anew).await
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
    let stands = after.asked.as_ref().and_then(|asked| asked.raw.id.clone());
    let id = match turn {
        Turn::Write => Some(id.to_string()),
        Turn::Join => stands,
        Turn::Done(_) | Turn::Refuse(_) => None,
    };
    let detail = format!("asked for {}", wish.image);
    let outcome = told(&after.name, turn, Done::Asked, detail, write);
    Ok(Outcome { id, ..outcome })
}

async fn ask_and_watch(
    wished: Vec<Wished>,
    asking: &Asking,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let outcomes = put(wished, Write::Real, session).await;
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

/// Says what was done, where what follows on standard output is how they get on.
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

/// The nodes from which an answer is to come.
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
