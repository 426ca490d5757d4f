//! One watch of one kind, for ever: what comes is handed over, what breaks is told, and it starts again with a growing pause.

use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::api::Api;
use kube::core::Status;
use kube::runtime::watcher::{self, Config, Event, InitialListStrategy};
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Seconds after which the server ends a watch. A server that has said nothing for longer hangs, so this bounds how long that goes
/// unnoticed; what it costs is one request in that time.
pub const LIFE: u32 = 60;

/// Pauses between tries: from here, doubled, to there.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// A watch that has held for so long behind its list holds, and what breaks it is something new.
const HOLDS: Duration = PAUSE.1;

/// How long the answer to one request may take.
pub const ANSWER: Duration = Duration::from_secs(10);

/// Why a watch ended or a request failed.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The server says no to this credential: 401 or 403.
    #[error("{0}")]
    Refused(String),
    /// The server has no such object, or no such kind: 404.
    #[error("{0}")]
    Missing(String),
    /// It does not answer, or not now.
    #[error("{0}")]
    Away(String),
}

/// News from a watch.
pub enum News<K> {
    /// All there is, at the beginning and after a gap.
    All(Vec<K>),
    /// One object is new or has changed.
    Changed(K),
    /// One object is gone.
    Gone(K),
}

/// Filters of a watch.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
    /// How many objects at most are listed: whoever serves them may have no end of them.
    pub most: Option<usize>,
}

/// Watches until the first error.
///
/// # Errors
/// Always, in the end.
pub async fn once<K>(
    api: Api<K>,
    filter: &Filter,
    mut tell: impl FnMut(News<K>),
) -> Result<std::convert::Infallible, WatchError>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let config = Config {
        initial_list_strategy: InitialListStrategy::ListWatch,
        timeout: Some(LIFE),
        label_selector: filter.labels.clone(),
        field_selector: filter.fields.clone(),
        ..Config::default()
    };
    let mut events = std::pin::pin!(watcher::watcher(api, config));
    let mut listed = None;
    loop {
        match events.next().await {
            Some(Ok(event)) => {
                hand_over(event, &mut listed, &mut tell);
                not_more(listed.as_deref(), filter.most)?;
            }
            Some(Err(error)) => return Err(from_watch(error)),
            None => return Err(WatchError::Away("the watch ended".to_owned())),
        }
    }
}

fn not_more<K>(listed: Option<&[K]>, most: Option<usize>) -> Result<(), WatchError> {
    let listed = listed.map_or(0, <[K]>::len);
    match most.filter(|most| listed > *most) {
        Some(most) => Err(WatchError::Away(format!(
            "it lists more than {most} objects"
        ))),
        None => Ok(()),
    }
}

fn hand_over<K>(event: Event<K>, listed: &mut Option<Vec<K>>, tell: &mut impl FnMut(News<K>)) {
    match event {
        Event::Init => *listed = Some(Vec::new()),
        Event::InitApply(object) => listed.get_or_insert_default().push(object),
        Event::InitDone => tell(News::All(listed.take().unwrap_or_default())),
        Event::Apply(object) => tell(News::Changed(object)),
        Event::Delete(object) => tell(News::Gone(object)),
    }
}

/// Watches for ever; `broken` hears of every error and may mend something before the next try.
pub async fn forever<K, Mend>(
    api: Api<K>,
    filter: Filter,
    mut tell: impl FnMut(News<K>),
    mut broken: impl FnMut(WatchError) -> Mend,
) where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    Mend: Future<Output = ()>,
{
    let mut pauses = Pauses::default();
    loop {
        let mut listed = None;
        let result = once(api.clone(), &filter, |news| {
            listed.get_or_insert_with(Instant::now);
            tell(news);
        });
        let Err(error) = result.await;
        broken(error).await;
        let held = listed.map(|at| at.elapsed());
        tokio::time::sleep(pauses.behind(held.unwrap_or_default())).await;
    }
}

/// Pauses between tries. They grow until a watch has held for a while: a server that lies, or has more to do than it can, answers a list
/// and breaks the watch behind it, and lists are what costs it most.
#[derive(Debug)]
pub struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: PAUSE.0 }
    }
}

impl Pauses {
    /// The pause behind a try whose watch has held for so long; zero where it came to none.
    pub fn behind(&mut self, held: Duration) -> Duration {
        if held >= HOLDS {
            *self = Self::default();
        }
        let pause = self.next;
        self.next = (pause * 2).min(PAUSE.1);
        pause
    }

    /// As [`Self::behind`], where an end is what one expects of a watch that has held.
    pub fn behind_an_end(&mut self, held: Duration) -> Duration {
        let pause = self.behind(held);
        if held >= HOLDS { Duration::ZERO } else { pause }
    }
}

fn from_watch(error: watcher::Error) -> WatchError {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => error.into(),
        watcher::Error::WatchError(status) => of_status(&status),
        other => WatchError::Away(chain(&other)),
    }
}

fn of_status(status: &Status) -> WatchError {
    let text = format!("{} ({})", status.message, status.code);
    match status.code {
        401 | 403 => WatchError::Refused(text),
        404 => WatchError::Missing(text),
        _ => WatchError::Away(text),
    }
}

impl From<kube::Error> for WatchError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => of_status(&status),
            other => Self::Away(chain(&other)),
        }
    }
}

/// Gives up on a request after [`ANSWER`].
///
/// # Errors
/// As the request, or [`WatchError::Away`].
pub async fn limited<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WatchError> {
    match tokio::time::timeout(ANSWER, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(WatchError::Away(format!("no answer within {ANSWER:?}"))),
    }
}

/// Whether an object is older than what is known of it. Resource versions of one kind in one server are numbers that grow.
#[must_use]
pub fn is_older(version: &str, known: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    let numbers = number(version).zip(number(known));
    numbers.is_some_and(|(new, old)| new < old)
}

/// An error with its causes: kube shows only its own layer, and the cause is what a person needs.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIEF: Duration = Duration::from_secs(1);

    #[test]
    fn behind_watches_that_break_as_soon_as_they_have_listed_the_pauses_grow_to_an_end() {
        let mut pauses = Pauses::default();
        let each: Vec<Duration> = (0..20).map(|_| pauses.behind(BRIEF)).collect();
        assert!(each.is_sorted());
        assert_eq!((each[0], each[19]), PAUSE);
    }

    #[test]
    fn a_watch_that_has_held_for_a_while_is_begun_anew_soon_and_at_once_behind_a_mere_end() {
        let mut pauses = Pauses::default();
        for _ in 0..20 {
            pauses.behind(BRIEF);
        }
        assert_eq!(pauses.behind(HOLDS), PAUSE.0);
        assert_eq!(pauses.behind_an_end(HOLDS), Duration::ZERO);
        assert!(
            pauses.behind_an_end(BRIEF) > PAUSE.0,
            "and not the next one"
        );
    }

    #[test]
    fn a_server_that_refuses_us_or_is_busy_is_not_one_without_the_kind() {
        let of = |code| {
            let status = Status {
                code,
                ..Status::default()
            };
            WatchError::from(kube::Error::Api(Box::new(status)))
        };
        assert!(matches!(of(404), WatchError::Missing(_)));
        assert!(matches!(of(403), WatchError::Refused(_)));
        assert!(matches!(of(429), WatchError::Away(_)));
    }
}
