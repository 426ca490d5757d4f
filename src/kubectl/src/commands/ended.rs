//! Watching what was asked for to its end.

use super::Session;
use super::choose::learn;
use super::follow::{Course, End, follow};
use super::show::Shown;
use crate::cli::Choice;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::span::Span;
use crate::standing::Standing;
use crate::view::NodeView;

/// Shows how they get on until all have ended.
pub async fn to_the_end(
    names: Vec<String>,
    timeout: Option<Span>,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let choice = Choice::Named(names.clone());
    let expected = learn(&session.cluster, &[], &choice).await;
    let mut shown = Shown::new(expected, session.format);
    let course = Course {
        choice: &choice,
        timeout: timeout.map(|span| span.0),
    };
    let ended = |node: &NodeView| Standing::of(node).is_end();
    let over = |fleet: &Fleet| names.iter().all(|name| fleet.get(name).is_none_or(ended));
    match follow(session, course, &mut shown, over).await? {
        End::Over(fleet) => verdict(&names, &fleet, session),
        End::TimeOut(fleet) => {
            let going = names
                .iter()
                .filter(|name| !fleet.get(name).is_some_and(ended));
            let going: Vec<&str> = going.map(String::as_str).collect();
            let going = going.join(", ");
            Err(Failure::Timeout(format!(
                "not ended in time: {going}; it goes on all the same, and `kubectl careen status` shows it"
            )))
        }
    }
}

fn verdict(names: &[String], fleet: &Fleet, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for name in names {
        let well = fleet.get(name).map(Standing::of) == Some(Standing::Upgraded);
        if !well {
            exit = Exit::Failed;
            session.console.say(&format!(
                "`kubectl careen explain {name}` says why, and what to do"
            ))?;
        }
    }
    Ok(exit)
}
