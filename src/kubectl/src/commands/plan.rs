//! `kubectl careen plan`.

use upgrade::names;
use upgrade::plan::Question;

use super::act::settle;
use super::choose::learn;
use super::follow::{Course, End, follow};
use super::interrupt::unless_left;
use super::session::Session;
use super::show::Shown;
use crate::api::Write;
use crate::cli::{Choice, Plan};
use crate::diagnose::silent::unanswered;
use crate::drain::{Moving, moving};
use crate::duration;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::render::formatted;
use crate::render::plan::{self, Preview};
use crate::request::{self, Turn};
use crate::view::NodeView;

/// The message when a signal comes before the answer.
const TAKEN_OFF: &str = "the question is removed from the Node";

/// Shows what an upgrade would do.
///
/// # Errors
/// [`Failure::Timeout`] if the node's agent does not answer; what the client can see is printed
/// before.
pub async fn run(asked: &Plan, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let id =
        request::new_id(session.console.now()).map_err(|bad| Failure::Usage(bad.to_string()))?;
    let question = Question {
        image: asked.image.clone(),
        id: Some(id),
    }
    .to_string();
    let ended = unless_left(TAKEN_OFF, ask_and_show(asked, &question, session)).await;
    // A question that stays on a Node would keep its answer there.
    if matches!(ended, Err(Failure::Interrupted(_))) {
        take_off(asked, &question, session).await?;
    }
    ended
}

async fn ask_and_show(
    asked: &Plan,
    question: &str,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let answered = answer(asked, question, session).await?;
    let choice = Choice::Named(vec![asked.node.clone()]);
    let expected = learn(&session.cluster, &[], &choice).await;
    let preview = Preview {
        node: asked.node.clone(),
        image: asked.image.to_string(),
        pods: pods(&asked.node, session).await?,
        plan: answered,
        usual_seconds: expected.seconds(),
    }
    .settled();
    let look = session.console.look;
    let text = formatted(session.format, &preview, |wide| {
        plan::plan(&preview, wide, look)
    })?;
    session.console.print(&text)?;
    match preview.plan {
        None => Err(too_late(asked, session).await?),
        Some(plan) if plan.code.is_some() || plan.reason.is_some() => Ok(Exit::Failed),
        Some(_) => Ok(Exit::Done),
    }
}

/// The node's answer to this program's question, if it comes. The question is removed in either
/// case.
async fn answer(
    asked: &Plan,
    question: &str,
    session: &mut Session<'_>,
) -> Result<Option<upgrade::plan::Plan>, Failure> {
    put(asked, question, session).await?;
    if session.console.is_live() {
        let time = duration::short(asked.patience().as_secs());
        let line = format!(
            "{} looks at the image; it may take up to {time}",
            asked.node
        );
        session.console.say(&line);
    }
    let choice = Choice::Named(vec![asked.node.clone()]);
    let course = Course {
        choice: &choice,
        timeout: Some(asked.patience()),
    };
    let found = |fleet: &Fleet| answer_of(fleet, &asked.node, question).is_some();
    let end = follow(session, course, &mut Shown::nothing(), found).await;
    take_off(asked, question, session).await?;
    match end? {
        End::Over(fleet) | End::TimeOut(fleet) => Ok(answer_of(&fleet, &asked.node, question)),
    }
}

/// A write whose answer was lost may have been stored.
async fn put(asked: &Plan, question: &str, session: &mut Session<'_>) -> Result<(), Failure> {
    let change = request::questioning(question);
    let written = session
        .cluster
        .change(&asked.node, &change, Write::Real)
        .await;
    match written {
        Ok(_) => Ok(()),
        Err(failure @ (Failure::Unreachable(_) | Failure::Unwell(_))) => {
            if take_off(asked, question, session).await.is_err() {
                let line = format!(
                    "note: the question may still be on {0}: `kubectl annotate node {0} {1}-` removes it",
                    asked.node,
                    names::PLAN
                );
                session.console.say(&line);
            }
            Err(failure)
        }
        Err(other) => Err(other),
    }
}

/// An older answer, or one to another person, repeats another question.
fn answer_of(fleet: &Fleet, node: &str, question: &str) -> Option<upgrade::plan::Plan> {
    let plan = fleet.get(node)?.plan.as_ref()?;
    (plan.asked == question).then(|| plan.clone())
}

/// Removes only this program's question, because another person may have replaced it.
async fn take_off(asked: &Plan, question: &str, session: &Session<'_>) -> Result<(), Failure> {
    let node = session.cluster.node(&asked.node).await?.into();
    let decide = |node: &NodeView| {
        let ours = node.question.as_deref() == Some(question);
        let turn = if ours {
            Turn::Write
        } else {
            Turn::Done(String::new())
        };
        (turn, request::unquestioning(node))
    };
    settle(&session.cluster, node, Write::Real, decide).await?;
    Ok(())
}

/// The pods that would be evicted. A user who may not list them still gets a plan.
async fn pods(node: &str, session: &mut Session<'_>) -> Result<Option<Vec<Moving>>, Failure> {
    let seen = async {
        let pods = session.cluster.pods_on(node).await?;
        let budgets = session.cluster.budgets().await?;
        Ok::<_, Failure>(moving(&pods, &budgets))
    };
    match seen.await {
        Ok(moving) => Ok(Some(moving)),
        Err(Failure::Forbidden(why)) => {
            session
                .console
                .say(&format!("note: pods are not shown: {why}"));
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// The failure, based on the node's current state, because its agent may have reported since the
/// question.
async fn too_late(asked: &Plan, session: &Session<'_>) -> Result<Failure, Failure> {
    let node: NodeView = session.cluster.node(&asked.node).await?.into();
    let why = unanswered(&node, duration::seconds(session.console.now()));
    let time = duration::short(asked.patience().as_secs());
    let text = format!("{} did not answer in {time}: {why}", asked.node);
    Ok(Failure::Timeout(text))
}
