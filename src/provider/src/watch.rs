//! Watches one kind for ever. It passes on changes, reports errors, and restarts after a growing
//! pause.

use std::collections::HashMap;
use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use client::{NoAnswer, chain};
use futures::StreamExt;
use kube::api::Api;
use kube::core::Status;
use kube::runtime::watcher::{self, Config, Event, InitialListStrategy};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::engine::clean;
use crate::too_long::TooLong;

/// Seconds after which the server ends a watch. A server that is silent for longer hangs, so this
/// bounds how long a hang goes unnoticed. The cost is one request in that time.
pub const LIFE: u32 = 60;

/// The pauses between tries: the first, doubled each time up to the second.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// A watch that lasted this long after its list counts as working. A later error is a new failure.
const HOLDS: Duration = PAUSE.1;

/// The timeout of one request.
pub const ANSWER: Duration = Duration::from_secs(10);

/// Why a watch ended or a request failed.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The server rejects this credential: 401 or 403.
    #[error("{0}")]
    Refused(String),
    /// The server has no such object or kind: 404.
    #[error("{0}")]
    Missing(String),
    /// The server does not answer, or is temporarily unavailable.
    #[error("{0}")]
    Away(String),
    /// The answer exceeds the size limit.
    #[error("{0}")]
    TooLong(String),
}

impl WatchError {
    /// The server's own words, or a library's rendering of its answer: sanitized and of bounded
    /// length.
    fn away(why: &str) -> Self {
        Self::Away(clean(why))
    }
}

/// A change that a watch reports.
pub enum News<K> {
    /// All objects, at the start and after a gap.
    All(Vec<K>),
    /// One object is new or has changed.
    Changed(K),
    /// One object is gone.
    Gone(K),
}

/// What to watch.
#[derive(Clone, Debug)]
pub struct Filter<K> {
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
    /// The limits of a list. Without a budget the list is unlimited.
    pub budget: Option<Budget<K>>,
}

impl<K> Default for Filter<K> {
    fn default() -> Self {
        Self {
            labels: None,
            fields: None,
            budget: None,
        }
    }
}

/// The limits of a list from an untrusted server, which may send endless objects or take endless
/// time.
#[derive(Clone, Copy, Debug)]
pub struct Budget<K> {
    /// The number of objects per page.
    pub page: u32,
    /// The maximum number of objects.
    pub most: usize,
    /// The maximum memory for all objects together, in bytes.
    pub bytes: usize,
    /// The memory that one object takes, in bytes.
    pub size: fn(&K) -> usize,
    /// Who may make objects without end, and how many of each such maker count; more are left out.
    pub share: Option<Share<K>>,
    /// The maximum duration of the list, no matter how much data arrives.
    pub within: Duration,
}

/// The objects of one maker that count.
#[derive(Clone, Copy, Debug)]
pub struct Share<K> {
    /// The maker of an object.
    pub of: fn(&K) -> Option<&str>,
    /// How many of each.
    pub most: usize,
}

/// A list in progress, and what it has used so far.
struct Listing<K> {
    objects: Vec<K>,
    bytes: usize,
    shares: HashMap<String, usize>,
    begun: Instant,
    over: bool,
}

impl<K> Listing<K> {
    fn begin() -> Self {
        Self {
            objects: Vec::new(),
            bytes: 0,
            shares: HashMap::new(),
            begun: Instant::now(),
            over: false,
        }
    }

    /// Counts an object of a maker, and says whether it is within its share.
    fn is_within_share(&mut self, object: &K, share: &Share<K>) -> bool {
        let Some(maker) = (share.of)(object) else {
            return true;
        };
        let count = self.shares.entry(maker.to_owned()).or_default();
        *count += 1;
        *count <= share.most
    }

    /// Takes one more object if the budget allows it.
    fn take(&mut self, object: K, budget: Option<&Budget<K>>) -> Result<(), WatchError> {
        let share = budget.and_then(|budget| budget.share.as_ref());
        if share.is_some_and(|share| !self.is_within_share(&object, share)) {
            return Ok(());
        }
        if let Some(Budget {
            most, bytes, size, ..
        }) = budget
        {
            self.bytes += size(&object);
            if self.objects.len() >= *most {
                return Err(WatchError::Away(format!(
                    "it lists more than {most} objects"
                )));
            }
            if self.bytes > *bytes {
                let why = format!("it lists objects that take more than {bytes} bytes");
                return Err(WatchError::Away(why));
            }
        }
        self.objects.push(object);
        Ok(())
    }

    /// The deadline of the list.
    fn deadline(&self, budget: Option<&Budget<K>>) -> Option<Instant> {
        let budget = budget.filter(|_| !self.over)?;
        Some(self.begun + budget.within)
    }
}

/// Watches until the first error.
///
/// # Errors
/// Always, in the end.
pub async fn once<K>(
    api: Api<K>,
    filter: &Filter<K>,
    mut tell: impl FnMut(News<K>),
) -> Result<std::convert::Infallible, WatchError>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let (defaults, budget) = (Config::default(), filter.budget.as_ref());
    let config = Config {
        initial_list_strategy: InitialListStrategy::ListWatch,
        timeout: Some(LIFE),
        label_selector: filter.labels.clone(),
        field_selector: filter.fields.clone(),
        page_size: budget.map_or(defaults.page_size, |budget| Some(budget.page)),
        ..defaults
    };
    let mut events = std::pin::pin!(watcher::watcher(api, config));
    let mut listing = Listing::begin();
    loop {
        match by(listing.deadline(budget), events.next()).await? {
            Some(Ok(event)) => hand_over(event, &mut listing, budget, &mut tell)?,
            Some(Err(error)) => return Err(from_watch(error)),
            None => return Err(WatchError::Away("the watch ended".to_owned())),
        }
    }
}

async fn by<T>(deadline: Option<Instant>, next: impl Future<Output = T>) -> Result<T, WatchError> {
    let Some(deadline) = deadline else {
        return Ok(next.await);
    };
    let late = |_| WatchError::Away("its list did not end in time".to_owned());
    tokio::time::timeout_at(deadline.into(), next)
        .await
        .map_err(late)
}

fn hand_over<K>(
    event: Event<K>,
    listing: &mut Listing<K>,
    budget: Option<&Budget<K>>,
    tell: &mut impl FnMut(News<K>),
) -> Result<(), WatchError> {
    match event {
        Event::Init => *listing = Listing::begin(),
        Event::InitApply(object) => listing.take(object, budget)?,
        Event::InitDone => {
            listing.over = true;
            tell(News::All(std::mem::take(&mut listing.objects)));
        }
        Event::Apply(object) => tell(News::Changed(object)),
        Event::Delete(object) => tell(News::Gone(object)),
    }
    Ok(())
}

/// Watches for ever. `broken` receives every error and may repair something before the next try.
pub async fn forever<K, Repair>(
    api: Api<K>,
    filter: Filter<K>,
    mut tell: impl FnMut(News<K>),
    mut broken: impl FnMut(WatchError) -> Repair,
) where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    Repair: Future<Output = ()>,
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
        tokio::time::sleep(pauses.after(held.unwrap_or_default())).await;
    }
}

/// The pauses between tries. They grow until a watch has lasted for a while. A server that lies or
/// is overloaded answers a list and then breaks the watch, and lists cost it most.
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
    /// The pause after a try whose watch lasted this long; zero if the watch never started.
    pub fn after(&mut self, held: Duration) -> Duration {
        if held >= HOLDS {
            *self = Self::default();
        }
        let pause = self.next;
        self.next = (pause * 2).min(PAUSE.1);
        pause
    }

    /// Like [`Self::after`], for a watch that lasted and whose end is expected.
    pub fn after_an_end(&mut self, held: Duration) -> Duration {
        let pause = self.after(held);
        if held >= HOLDS { Duration::ZERO } else { pause }
    }
}

fn from_watch(error: watcher::Error) -> WatchError {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => error.into(),
        watcher::Error::WatchError(status) => of_status(&status),
        other => WatchError::away(&chain(&other)),
    }
}

fn of_status(status: &Status) -> WatchError {
    let text = format!("{} ({})", clean(&status.message), status.code);
    match status.code {
        401 | 403 => WatchError::Refused(text),
        404 => WatchError::Missing(text),
        _ => WatchError::Away(text),
    }
}

impl From<NoAnswer> for WatchError {
    fn from(NoAnswer(limit): NoAnswer) -> Self {
        Self::Away(format!("no answer within {limit:?}"))
    }
}

impl From<kube::Error> for WatchError {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = error else {
            return match TooLong::among(&error) {
                Some(why) => Self::TooLong(why.to_string()),
                None => Self::away(&chain(&error)),
            };
        };
        of_status(&status)
    }
}

/// Cancels a request after [`ANSWER`].
///
/// # Errors
/// The request's error, or [`WatchError::Away`].
pub async fn limited<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WatchError> {
    client::in_time(ANSWER, request).await
}

/// Whether an object is older than the known one. Resource versions of one kind in one server are
/// increasing numbers.
#[must_use]
pub fn is_older(version: &str, known: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    let numbers = number(version).zip(number(known));
    numbers.is_some_and(|(new, old)| new < old)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Budget<String> {
        Budget {
            page: 1,
            most: 3,
            bytes: 10,
            size: String::len,
            share: None,
            within: Duration::from_secs(60),
        }
    }

    /// Why a list of these objects is rejected.
    fn refused(objects: &[&str]) -> Option<String> {
        let (mut listing, budget) = (Listing::begin(), budget());
        let mut taken = objects.iter().map(|object| {
            let event = Event::InitApply((*object).to_owned());
            hand_over(event, &mut listing, Some(&budget), &mut |_| {})
        });
        taken.find_map(Result::err).map(|error| error.to_string())
    }

    #[test]
    fn a_list_is_taken_up_to_its_budget() {
        assert_eq!(refused(&["a", "b", "c"]), None);
        assert_eq!(
            refused(&["a"; 4]).as_deref(),
            Some("it lists more than 3 objects")
        );
        let why = refused(&["123456", "12345"]);
        assert_eq!(
            why.as_deref(),
            Some("it lists objects that take more than 10 bytes")
        );
    }

    #[test]
    fn objects_beyond_the_share_of_their_maker_are_left_out() {
        let share = Some(Share {
            of: |object: &String| object.get(..1),
            most: 2,
        });
        let (mut listing, budget) = (Listing::begin(), Budget { share, ..budget() });
        for object in ["a1", "a2", "a3", "a4", "b1"] {
            listing.take(object.to_owned(), Some(&budget)).unwrap();
        }
        assert_eq!(listing.objects, ["a1", "a2", "b1"]);
    }

    #[test]
    fn the_time_of_a_list_ends_with_the_list() {
        let (mut listing, budget) = (Listing::begin(), budget());
        assert!(listing.deadline(Some(&budget)).is_some());
        assert!(listing.deadline(None).is_none());
        let done = hand_over(Event::InitDone, &mut listing, Some(&budget), &mut |_| {});
        assert!(done.is_ok() && listing.deadline(Some(&budget)).is_none());
    }

    #[test]
    fn what_a_server_says_of_an_error_is_short_and_harmless() {
        let status = Status {
            code: 500,
            message: format!("no\u{1b}[2J\u{202e}{}", "x".repeat(1 << 20)),
            ..Status::default()
        };
        let said = WatchError::from(kube::Error::Api(Box::new(status))).to_string();
        assert!(
            said.len() < 1000 && said.starts_with("no [2J xxx"),
            "{said}"
        );
    }

    const BRIEF: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_after_brief_watches_grow_to_a_limit() {
        let mut pauses = Pauses::default();
        let each: Vec<Duration> = (0..20).map(|_| pauses.after(BRIEF)).collect();
        assert!(each.is_sorted());
        assert_eq!((each[0], each[19]), PAUSE);
    }

    #[test]
    fn lasting_watch_resets_the_pause_and_its_clean_end_skips_it() {
        let mut pauses = Pauses::default();
        for _ in 0..20 {
            pauses.after(BRIEF);
        }
        assert_eq!(pauses.after(HOLDS), PAUSE.0);
        assert_eq!(pauses.after_an_end(HOLDS), Duration::ZERO);
        assert!(pauses.after_an_end(BRIEF) > PAUSE.0, "and not the next one");
    }

    #[test]
    fn refused_or_busy_server_is_not_reported_as_a_missing_kind() {
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
