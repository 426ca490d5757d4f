//! The one watch: our own Node, and with it whether the API server can be reached.
//!
//! Nothing is polled: an idle agent costs the server one watch, renewed by the server's own time limit. While the server is
//! away the watch is tried again with a growing pause.

use std::sync::Arc;
use std::time::Duration;

use client::{Node, chain};
use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Config, Event, InitialListStrategy};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{info, warn};
use upgrade::Version;

use super::seen::NodeSeen;
use super::{ApiError, Cluster};
use crate::link::GONE;

/// Pauses between tries: from here, doubled, to there. The upper end bounds how late a server's return is noticed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// News about the API server and our Node.
#[derive(Debug)]
pub enum News {
    /// The server answers: its version as far as it says it, and our Node if there is one. They come together: who acts on
    /// the first needs the second.
    Reached(Option<Version>, Option<Box<NodeSeen>>),
    /// Its version, when it did not say it at once. Comes only while the server is reached.
    Version(Version),
    /// It answers and does not say its version: why, for a person. Comes only while the server is reached.
    Unversioned(String),
    /// It does not.
    Away(String),
    /// Our Node as it is now. Comes only while the server is reached.
    Node(Box<NodeSeen>),
    /// There is no such Node.
    NoNode,
}

/// Watches for ever.
pub async fn run(cluster: Arc<Cluster>, news: UnboundedSender<News>) {
    let mut tries = Tries {
        pause: PAUSE.0,
        told: false,
    };
    while !news.is_closed() {
        let Err(error) = once(&cluster, &news, &mut tries).await else {
            info!("the kubelet has another credential: asking again which node it is for");
            continue;
        };
        // One line per outage, not one per try.
        if !std::mem::replace(&mut tries.told, true) {
            warn!("cannot reach the API server: {error}");
        }
        let _ = news.send(News::Away(error.to_string()));
        tokio::time::sleep(tries.pause).await;
        tries.pause = (tries.pause * 2).min(PAUSE.1);
    }
}

/// Tries since the server was reached last.
struct Tries {
    pause: Duration,
    told: bool,
}

/// One life of the watch, from connecting to the first error or to the kubelet's next credential. Its name is asked for each time:
/// a node that joined again may have another, and under the old one the server would refuse it for ever.
async fn once(
    cluster: &Cluster,
    news: &UnboundedSender<News>,
    tries: &mut Tries,
) -> Result<(), ApiError> {
    let credential = cluster.credential_number().await?;
    let name = cluster.node_name().await?;
    let nodes = cluster.nodes().await?;
    let config = Config {
        initial_list_strategy: InitialListStrategy::ListWatch,
        ..Config::default().fields(&format!("metadata.name={name}"))
    };
    let mut events = std::pin::pin!(watcher::watcher(nodes, config));
    let found = first(&mut events, super::ANSWER).await?;
    *tries = Tries {
        pause: PAUSE.0,
        told: false,
    };
    let version = cluster.version().await;
    info!("watching Node {name} on API server {}", shown(&version));
    if found.is_none() {
        warn!("{GONE}");
    }
    let why = version.as_ref().err().map(unversioned);
    let _ = news.send(News::Reached(version.ok(), found.map(Box::new)));
    tokio::select! {
        never = until_version(cluster, news, why.clone()), if why.is_some() => match never {},
        ended = follow(cluster, credential, &mut events, news) => ended,
    }
}

/// Asks for the version until it is known, and waits for ever then: without it nothing is deployed. Why it is not known is told once.
async fn until_version(
    cluster: &Cluster,
    news: &UnboundedSender<News>,
    mut why: Option<String>,
) -> std::convert::Infallible {
    let mut told: Option<String> = None;
    loop {
        if let Some(new) = why.take().filter(|new| told.as_ref() != Some(new)) {
            warn!("{new}");
            let _ = news.send(News::Unversioned(new.clone()));
            told = Some(new);
        }
        tokio::time::sleep(PAUSE.1).await;
        match cluster.version().await {
            Ok(version) => {
                info!("the API server is {version}");
                let _ = news.send(News::Version(version));
                return std::future::pending().await;
            }
            Err(error) => why = Some(unversioned(&error)),
        }
    }
}

/// Who lets whom read it, for the person who must fix it.
const MAY_READ: &str = "Kubernetes lets everybody read it (ClusterRole system:public-info-viewer): bind that to system:authenticated again, or fix the proxy before the API server";

/// Why the version is not known. A server that says no is not one that is away, and does not come round by itself.
fn unversioned(error: &ApiError) -> String {
    let what = "GET /version, without which no image is deployed";
    match error {
        ApiError::Refused(_) | ApiError::Missing | ApiError::Unfit(_) => {
            format!("{what}, is refused: {error}; {MAY_READ}")
        }
        ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_) => {
            format!("{what}: {error}")
        }
    }
}

/// Passes on what happens to the Node, until there is another credential than this one. That is looked at when something happens: a
/// Node that its kubelet has left is soon marked as such, or deleted, and the old connection would serve its watch on.
async fn follow(
    cluster: &Cluster,
    credential: u64,
    events: &mut (impl Stream<Item = Watched> + Unpin),
    news: &UnboundedSender<News>,
) -> Result<(), ApiError> {
    loop {
        let happened = match next(events).await? {
            Some(node) => News::Node(Box::new(node)),
            None => News::NoNode,
        };
        // One that cannot be read is just being written.
        let now = cluster.credential_number().await;
        if now.is_ok_and(|now| now != credential) {
            return Ok(());
        }
        if matches!(happened, News::NoNode) {
            warn!("{GONE}");
        }
        let _ = news.send(happened);
    }
}

fn shown(version: &Result<Version, ApiError>) -> String {
    match version {
        Ok(version) => version.to_string(),
        Err(error) => format!("of unknown version; asking again ({error})"),
    }
}

type Watched = Result<Event<Node>, watcher::Error>;

/// The Node at the end of the first listing, which must come in time: a server that takes the connection and says nothing is
/// away, and the watch's own patience with silence is far longer.
async fn first(
    events: &mut (impl Stream<Item = Watched> + Unpin),
    limit: Duration,
) -> Result<Option<NodeSeen>, ApiError> {
    let listed = tokio::time::timeout(limit, listed(events)).await;
    listed.unwrap_or_else(|_| Err(super::no_answer(limit)))
}

async fn listed(
    events: &mut (impl Stream<Item = Watched> + Unpin),
) -> Result<Option<NodeSeen>, ApiError> {
    let mut found = None;
    loop {
        match step(events).await? {
            Event::InitApply(node) | Event::Apply(node) => found = Some(node.into()),
            Event::InitDone => return Ok(found),
            Event::Init | Event::Delete(_) => found = None,
        }
    }
}

/// The Node after the next change of it.
async fn next(
    events: &mut (impl Stream<Item = Watched> + Unpin),
) -> Result<Option<NodeSeen>, ApiError> {
    loop {
        match step(events).await? {
            Event::InitApply(node) | Event::Apply(node) => return Ok(Some(node.into())),
            Event::Delete(_) => return Ok(None),
            Event::Init | Event::InitDone => {}
        }
    }
}

async fn step(events: &mut (impl Stream<Item = Watched> + Unpin)) -> Result<Event<Node>, ApiError> {
    match events.next().await {
        Some(Ok(event)) => Ok(event),
        Some(Err(error)) => Err(from_watch(error)),
        None => Err(ApiError::Away("the watch ended".to_owned())),
    }
}

fn from_watch(error: watcher::Error) -> ApiError {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => error.into(),
        other @ (watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion) => {
            ApiError::Away(chain(&other))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_version_message_names_the_role_that_grants_it() {
        let refused = unversioned(&ApiError::Refused("forbidden (403)".to_owned()));
        for words in ["/version", "is refused", "403", "system:public-info-viewer"] {
            assert!(refused.contains(words), "{refused}");
        }
        let away = unversioned(&ApiError::Away("no answer in 10 s".to_owned()));
        assert!(!away.contains("refused"), "{away}");
    }

    #[tokio::test]
    async fn a_listing_that_is_never_answered_is_an_absent_server() {
        let mut silent = futures::stream::pending();
        let found = first(&mut silent, Duration::ZERO).await;
        assert!(matches!(found, Err(ApiError::Away(_))), "{found:?}");
    }
}
