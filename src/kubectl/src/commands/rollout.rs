//! Requests an upgrade of many nodes, a limited number at once. The next node starts when one has
//! succeeded.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::choose::learn;
use super::ended::{Awaited, late, verdict};
use super::follow::{Following, Stop};
use super::interrupt::unless_interrupted;
use super::put::{STANDS, put_again, tell, to_answer};
use super::session::Session;
use super::show::Shown;
use crate::cli::{Asking, Choice};
use crate::duration::Span;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fleet::{Fleet, News};
use crate::request::Errand;
use crate::rollout::{Pace, Tally};
use crate::view::NodeView;
use upgrade::reason::few;

/// A node in progress, and the deadline for watching it.
struct Running {
    awaited: Awaited,
    deadline: Option<Instant>,
}

struct Rollout<'a> {
    errand: &'a Errand,
    pace: Pace,
    timeout: Option<Span>,
    waiting: VecDeque<NodeView>,
    running: Vec<Running>,
    failed: Vec<String>,
    worst: Exit,
}

/// Requests upgrades at this pace, watches each to its end, and reports the nodes without a
/// request.
///
/// # Errors
/// See [`Failure`].
pub async fn at_pace(
    nodes: Vec<NodeView>,
    errand: &Errand,
    (asking, pace): (&Asking, Pace),
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let mut rollout = Rollout {
        errand,
        pace,
        timeout: asking.timeout,
        waiting: nodes.into(),
        running: Vec::new(),
        failed: Vec::new(),
        worst: Exit::Done,
    };
    let ended = unless_interrupted(STANDS, rollout.run(session)).await;
    rollout.say_who_was_not_asked(session);
    match ended {
        Err(failure) if failure.exit() < rollout.worst => session.console.complain(&failure),
        other => other?,
    }
    Ok(rollout.worst)
}

/// The watched state may be older than the request, so the node is read again before an end is
/// accepted.
async fn has_ended(
    one: &Awaited,
    session: &Session<'_>,
    following: &mut Following,
) -> Result<bool, Failure> {
    if one.is_open(&following.fleet) {
        return Ok(false);
    }
    let is_known = following.read_again(&one.node, session).await?;
    Ok(is_known && !one.is_open(&following.fleet))
}

impl Rollout<'_> {
    async fn run(&mut self, session: &mut Session<'_>) -> Result<(), Failure> {
        let names = self.waiting.iter().map(|node| node.name.clone());
        let choice = Choice::Named(names.collect());
        let expected = learn(&session.cluster, &[], &choice).await;
        let mut shown = Shown::new(expected, session.format);
        let mut following = Following::of_nobody_yet(session, &choice);
        loop {
            let room = self.pace.room(self.tally());
            if room > 0 {
                self.ask(room, session, &mut following).await;
            } else if self.running.is_empty() {
                return Ok(());
            } else {
                self.wait(session, &mut following, &mut shown).await?;
            }
        }
    }

    fn tally(&self) -> Tally {
        Tally {
            waiting: self.waiting.len(),
            running: self.running.len(),
            failed: self.failed.len(),
        }
    }

    async fn ask(&mut self, room: usize, session: &mut Session<'_>, following: &mut Following) {
        let next: Vec<NodeView> = self.waiting.drain(..room).collect();
        let outcomes = put_again(next, self.errand, session).await;
        self.worst = self.worst.max(tell(&outcomes, session));
        let bad = outcomes.iter().filter(|one| one.exit() != Exit::Done);
        self.failed.extend(bad.map(|one| one.node.clone()));
        for awaited in to_answer(&outcomes) {
            following.fleet.mean(&awaited.node);
            self.running.push(Running {
                awaited,
                deadline: self.timeout.map(|time| Instant::now() + time.0),
            });
        }
    }

    /// Waits until one has ended or timed out.
    async fn wait(
        &mut self,
        session: &mut Session<'_>,
        following: &mut Following,
        shown: &mut Shown,
    ) -> Result<(), Failure> {
        let running = &self.running;
        let deadline = running.iter().filter_map(|one| one.deadline).min();
        let one_has_ended = |fleet: &Fleet| running.iter().any(|one| !one.awaited.is_open(fleet));
        let stop = following
            .until(session, shown, deadline, one_has_ended)
            .await?;
        match stop {
            Stop::Over => self.take_ended(session, following).await?,
            Stop::TimeOut => self.take_late(session),
        }
        shown.show(session.console, &following.fleet, &News::OfAll)
    }

    async fn take_ended(
        &mut self,
        session: &mut Session<'_>,
        following: &mut Following,
    ) -> Result<(), Failure> {
        for one in std::mem::take(&mut self.running) {
            if !has_ended(&one.awaited, session, following).await? {
                self.running.push(one);
                continue;
            }
            let ended = std::slice::from_ref(&one.awaited);
            let exit = verdict(ended, &following.fleet, session);
            self.end(one.awaited.node, exit);
        }
        Ok(())
    }

    fn take_late(&mut self, session: &mut Session<'_>) {
        let now = Instant::now();
        let running = std::mem::take(&mut self.running);
        let is_late = |one: &Running| one.deadline.is_some_and(|at| at <= now);
        let (gone_by, running): (Vec<_>, Vec<_>) = running.into_iter().partition(is_late);
        self.running = running;
        for one in gone_by {
            session
                .console
                .complain(&late(&[one.awaited.node.as_str()]));
            self.end(one.awaited.node, Exit::Timeout);
        }
    }

    fn end(&mut self, node: String, exit: Exit) {
        self.worst = self.worst.max(exit);
        if exit != Exit::Done {
            self.failed.push(node);
        }
    }

    fn say_who_was_not_asked(&self, session: &mut Session<'_>) {
        let rest: Vec<&str> = self.waiting.iter().map(|node| node.name.as_str()).collect();
        if rest.is_empty() {
            return;
        }
        let failed: Vec<&str> = self.failed.iter().map(String::as_str).collect();
        let stopped = match failed.as_slice() {
            [] => String::new(),
            failed => format!("stopped at {}; ", few(failed)),
        };
        session
            .console
            .say(&format!("{stopped}not asked: {}", few(&rest)));
    }
}
