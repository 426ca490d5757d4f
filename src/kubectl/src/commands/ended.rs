//! Watches requests to their end.

use super::choose::learn;
use super::follow::{Course, End, follow};
use super::session::Session;
use super::show::Shown;
use crate::cli::Choice;
use crate::duration::Span;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::standing::Fate;
use upgrade::reason::few;

/// A request whose end the command waits for. Others may withdraw or replace it. The node's answer
/// after that does not belong to this request.
pub struct Awaited {
    /// The node.
    pub node: String,
    /// The request's id; none if the request has no id.
    pub id: Option<String>,
}

impl Awaited {
    /// The result, or nothing if the node is gone.
    fn fate(&self, fleet: &Fleet) -> Option<Fate> {
        let node = fleet.get(&self.node)?;
        Some(Fate::of(node, self.id.as_deref()))
    }

    /// Whether the request has not ended yet.
    pub fn is_open(&self, fleet: &Fleet) -> bool {
        self.fate(fleet) == Some(Fate::Open)
    }
}

/// Shows the progress until all have ended.
pub async fn to_the_end(
    awaited: Vec<Awaited>,
    timeout: Option<Span>,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let names = awaited.iter().map(|one| one.node.clone());
    let choice = Choice::Named(names.collect());
    let expected = learn(&session.cluster, &[], &choice).await;
    let mut shown = Shown::new(expected, session.format);
    let course = Course {
        choice: &choice,
        timeout: timeout.map(|span| span.0),
    };
    let over = |fleet: &Fleet| !awaited.iter().any(|one| one.is_open(fleet));
    match follow(session, course, &mut shown, over).await? {
        End::Over(fleet) => Ok(verdict(&awaited, &fleet, session)),
        End::TimeOut(fleet) => {
            // Nothing is known of a server that was never reached.
            let going = awaited
                .iter()
                .filter(|one| !fleet.is_whole() || one.is_open(&fleet));
            let going: Vec<&str> = going.map(|one| one.node.as_str()).collect();
            Err(late(&going))
        }
    }
}

/// The failure for nodes whose upgrade did not end in time.
pub fn late(nodes: &[&str]) -> Failure {
    Failure::Timeout(format!(
        "not ended in time: {}; the upgrade continues, and `kubectl careen status` shows it",
        few(nodes)
    ))
}

/// The worst exit code, after printing the advice for each node that did not succeed.
pub fn verdict(awaited: &[Awaited], fleet: &Fleet, session: &mut Session<'_>) -> Exit {
    let mut worst = Exit::Done;
    for one in awaited {
        let node = &one.node;
        let (exit, words) = match one.fate(fleet) {
            Some(Fate::Well) => continue,
            Some(Fate::Open | Fate::Badly) => (
                Exit::Failed,
                format!("`kubectl careen explain {node}` shows why, and what to do"),
            ),
            Some(Fate::Dropped) => (
                Exit::Failed,
                format!("{node}: the request was withdrawn or replaced before the agent took it"),
            ),
            None => (Exit::Missing, format!("{node} is gone from the cluster")),
        };
        worst = worst.max(exit);
        session.console.say(&words);
    }
    worst
}
