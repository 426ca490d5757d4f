//! Watching nodes until something is over.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::Session;
use super::show::Shown;
use crate::cli::Choice;
use crate::failure::{Failure, chain};
use crate::fleet::Fleet;

/// How often a table that moves is drawn for the time alone.
const TICK: Duration = Duration::from_secs(1);

/// What is watched, and for how long at most.
#[derive(Clone, Copy)]
pub struct Course<'a> {
    /// The nodes.
    pub choice: &'a Choice,
    /// How long.
    pub timeout: Option<Duration>,
}

/// The nodes when it was over, or when there was no more time.
pub enum End {
    /// It is over.
    Over(Fleet),
    /// The time is.
    TimeOut(Fleet),
}

/// Watches until it is over. A server that goes away in between is waited for.
///
/// # Errors
/// When the server is not reached at first, or forbids it.
pub async fn follow(
    session: &mut Session<'_>,
    course: Course<'_>,
    shown: &mut Shown,
    is_over: impl Fn(&Fleet) -> bool,
) -> Result<End, Failure> {
    let deadline = course.timeout.map(|time| Instant::now() + time);
    let mut events =
        pin!(watcher(session.cluster.nodes(), config(course.choice)).default_backoff());
    let mut fleet = Fleet::of(course.choice);
    let mut away = false;
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Ok(event)) => {
                    away = false;
                    fleet.take(event);
                }
                Some(Err(error)) => {
                    let trouble = trouble(error, &fleet)?;
                    if !std::mem::replace(&mut away, true) {
                        session.console.say(&format!("{trouble}; it is asked again and again"))?;
                    }
                }
                None => return Err(Failure::Unreachable("the watch has ended".to_owned())),
            },
            _ = tick.tick() => {}
            () = until(deadline) => return Ok(End::TimeOut(fleet)),
        }
        if fleet.is_whole() {
            shown.show(session.console, &fleet)?;
            if is_over(&fleet) {
                return Ok(End::Over(fleet));
            }
        }
    }
}

/// One node is asked for by its name, so that the server does not send all of them.
fn config(choice: &Choice) -> watcher::Config {
    let config = watcher::Config::default();
    match choice {
        Choice::Named(names) => match names.as_slice() {
            [name] => config.fields(&format!("metadata.name={name}")),
            _ => config,
        },
        Choice::Selected(labels) => config.labels(labels),
        Choice::All => config,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// What is said of an error of the watch; one that will not pass ends it.
fn trouble(error: watcher::Error, fleet: &Fleet) -> Result<Failure, Failure> {
    let failure = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Failure::from(error),
        other @ (watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion) => {
            Failure::Unreachable(chain(&other))
        }
    };
    let passes = matches!(failure, Failure::Unreachable(_) | Failure::Missing(_));
    if passes && fleet.is_whole() {
        Ok(failure)
    } else {
        Err(failure)
    }
}
