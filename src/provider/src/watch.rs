//! One watch of one kind, for ever: what comes is handed over, what breaks is told, and it starts again with a growing pause.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

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
    let mut pause = PAUSE.0;
    loop {
        let mut lived = false;
        let result = once(api.clone(), &filter, |news| {
            lived = true;
            tell(news);
        });
        let Err(error) = result.await;
        broken(error).await;
        pause = if lived { PAUSE.0 } else { next_pause(pause) };
        tokio::time::sleep(pause).await;
    }
}

/// The pause after this one.
#[must_use]
pub fn next_pause(pause: Duration) -> Duration {
    (pause * 2).min(PAUSE.1)
}

/// The first pause.
#[must_use]
pub const fn first_pause() -> Duration {
    PAUSE.0
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
