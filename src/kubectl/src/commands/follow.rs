//! Watches nodes until a condition holds.

use std::future::pending;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::session::Session;
use super::show::Shown;
use crate::api::Node;
use crate::cli::Choice;
use crate::failure::Failure;
use crate::fleet::{Fleet, News};

/// The server's code for a resource version that it no longer has (HTTP 410).
const GONE: u16 = 410;

/// How often a live table is redrawn only because time passed.
const TICK: Duration = Duration::from_secs(1);

/// For how many seconds the server keeps one watch open; the next watch continues where it ended. A
/// watch that has not ended by then has a dead link: nobody reports it when a server loses power.
const WATCH: u32 = 45;

/// What to watch, and for how long at most.
#[derive(Clone, Copy)]
pub struct Course<'a> {
    /// The nodes.
    pub choice: &'a Choice,
    /// The timeout.
    pub timeout: Option<Duration>,
}

/// The nodes when the condition held, or when the timeout expired.
pub enum End {
    /// The condition holds.
    Over(Fleet),
    /// The timeout expired.
    TimeOut(Fleet),
}

/// Watches until the condition holds.
///
/// # Errors
/// See [`Following::until`].
pub async fn follow(
    session: &mut Session<'_>,
    course: Course<'_>,
    shown: &mut Shown,
    is_over: impl Fn(&Fleet) -> bool,
) -> Result<End, Failure> {
    let deadline = course.timeout.map(|time| Instant::now() + time);
    let mut following = Following::of(session, course.choice);
    let stop = following.until(session, shown, deadline, is_over).await?;
    Ok(match stop {
        Stop::Over => End::Over(following.fleet),
        Stop::TimeOut => End::TimeOut(following.fleet),
    })
}

/// Why a watch stopped for now.
pub enum Stop {
    /// The condition holds.
    Over,
    /// The timeout expired.
    TimeOut,
}

/// A watch that continues from one stop to the next.
pub struct Following {
    events: BoxStream<'static, watcher::Result<watcher::Event<Node>>>,
    /// The nodes seen so far.
    pub fleet: Fleet,
    away: bool,
    tick: Interval,
}

impl Following {
    /// Watches these nodes.
    pub fn of(session: &Session<'_>, choice: &Choice) -> Self {
        let events = watcher(session.cluster.nodes(), config(choice)).default_backoff();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            events: events.boxed(),
            fleet: Fleet::of(choice),
            away: false,
            tick,
        }
    }

    /// Watches these nodes, but each only after the fleet is told that it is chosen.
    pub fn of_nobody_yet(session: &Session<'_>, choice: &Choice) -> Self {
        Self {
            fleet: Fleet::of(&Choice::Named(Vec::new())),
            ..Self::of(session, choice)
        }
    }

    /// Watches until the condition holds. Waits for a server that becomes unreachable in between.
    ///
    /// # Errors
    /// If the server is not reachable at the start, or forbids the watch.
    pub async fn until(
        &mut self,
        session: &mut Session<'_>,
        shown: &mut Shown,
        deadline: Option<Instant>,
        is_over: impl Fn(&Fleet) -> bool,
    ) -> Result<Stop, Failure> {
        loop {
            let mut news = News::None;
            tokio::select! {
                event = self.events.next() => news = self.take(event, session)?,
                _ = self.tick.tick() => {}
                () = until(deadline) => return Ok(Stop::TimeOut),
            }
            if !self.fleet.is_whole() {
                continue;
            }
            if is_over(&self.fleet) {
                // The last display omits nothing.
                shown.show(session.console, &self.fleet, &News::OfAll)?;
                return Ok(Stop::Over);
            }
            shown.show(session.console, &self.fleet, &news)?;
        }
    }

    fn take(
        &mut self,
        event: Option<watcher::Result<watcher::Event<Node>>>,
        session: &mut Session<'_>,
    ) -> Result<News, Failure> {
        match event {
            Some(Ok(event)) => {
                self.away = false;
                return Ok(self.fleet.take(event));
            }
            Some(Err(error)) => {
                if let Some(trouble) = trouble(error, &self.fleet)?
                    && !std::mem::replace(&mut self.away, true)
                {
                    let line = format!("{trouble}; retrying");
                    session.console.say(&line);
                }
            }
            None => return Err(Failure::Unreachable("the watch has ended".to_owned())),
        }
        Ok(News::None)
    }

    /// Reads one node directly, and returns whether its state is now known. It is not known if the
    /// server is unreachable; the watch waits for that.
    ///
    /// # Errors
    /// If the server forbids it.
    pub async fn read_again(&mut self, name: &str, session: &Session<'_>) -> Result<bool, Failure> {
        match session.cluster.node(name).await {
            Ok(node) => {
                self.fleet.take(watcher::Event::Apply(node));
            }
            Err(Failure::Missing(_)) => self.fleet.forget(name),
            Err(Failure::Unreachable(_) | Failure::Unwell(_)) => return Ok(false),
            Err(other) => return Err(other),
        }
        Ok(true)
    }
}

/// Selects a single node by its name, so that the server does not send all of them.
fn config(choice: &Choice) -> watcher::Config {
    let config = watcher::Config::default().timeout(WATCH);
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

/// The message for an error of the watch, if any. A permanent error ends the watch.
fn trouble(error: watcher::Error, fleet: &Fleet) -> Result<Option<Failure>, Failure> {
    let failure = match error {
        // The server no longer has the version where the watch stopped, so the watch starts again,
        // for example after a laptop's sleep.
        watcher::Error::WatchError(status) if status.code == GONE => return Ok(None),
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Failure::from(error),
        other @ (watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion) => {
            Failure::Unreachable(client::chain(&other))
        }
    };
    let passes = matches!(
        failure,
        Failure::Unreachable(_) | Failure::Unwell(_) | Failure::Missing(_)
    );
    if passes && fleet.is_whole() {
        Ok(Some(failure))
    } else {
        Err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;
    use kube::runtime::watcher::Event;

    fn whole() -> Fleet {
        let mut fleet = Fleet::of(&Choice::All);
        fleet.take(Event::InitDone);
        fleet
    }

    fn error(code: u16) -> watcher::Error {
        watcher::Error::WatchError(Status::failure("words", "").with_code(code).boxed())
    }

    #[test]
    fn follow_waits_for_an_unwell_server_once_nodes_were_seen() {
        let away = || {
            let status = Status::failure("no etcd", "").with_code(503).boxed();
            watcher::Error::WatchFailed(kube::Error::Api(status))
        };
        assert!(matches!(
            trouble(away(), &whole()),
            Ok(Some(Failure::Unwell(_)))
        ));
        let unseen = Fleet::of(&Choice::All);
        assert!(matches!(trouble(away(), &unseen), Err(Failure::Unwell(_))));
    }

    #[test]
    fn a_watch_that_the_server_has_forgotten_is_no_outage() {
        assert!(matches!(trouble(error(GONE), &whole()), Ok(None)));
        assert!(matches!(trouble(error(500), &whole()), Ok(Some(_))));
    }

    #[test]
    fn a_right_that_is_taken_away_ends_it() {
        let status = Status::failure("no", "").with_code(403).boxed();
        let error = watcher::Error::WatchStartFailed(kube::Error::Api(status));
        assert!(matches!(
            trouble(error, &whole()),
            Err(Failure::Forbidden(_))
        ));
    }
}
