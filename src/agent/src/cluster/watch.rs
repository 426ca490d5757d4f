//! The one watch: our own Node, and with it whether the API server can be reached.
//!
//! Nothing is polled: an idle agent costs the server one watch, renewed by the server's own time limit. While the server is
//! away the watch is tried again with a growing pause.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Config, Event, InitialListStrategy};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{info, warn};
use upgrade::Version;

use super::error::chain;
use super::objects::Node;
use super::seen::NodeSeen;
use super::{ApiError, Cluster};

/// Pauses between tries: from here, doubled, to there. The upper end bounds how late a server's return is noticed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// News about the API server and our Node.
#[derive(Debug)]
pub enum News {
    /// The server answers: its version as far as it says it, and our Node if there is one. They come together: who acts on
    /// the first needs the second.
    Reached(Option<Version>, Option<Box<NodeSeen>>),
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
    let mut name = None;
    while !news.is_closed() {
        let Err(error) = once(&cluster, &mut name, &news, &mut tries).await;
        // One line per outage, not one per try.
        if !std::mem::replace(&mut tries.told, true) {
            warn!("the API server is away: {error}");
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

/// One life of the watch, from connecting to the first error.
async fn once(
    cluster: &Cluster,
    name: &mut Option<String>,
    news: &UnboundedSender<News>,
    tries: &mut Tries,
) -> Result<std::convert::Infallible, ApiError> {
    if name.is_none() {
        *name = Some(cluster.node_name().await?);
    }
    let name = name.as_deref().unwrap_or_default();
    let nodes = cluster.nodes().await?;
    let config = Config {
        initial_list_strategy: InitialListStrategy::ListWatch,
        ..Config::default().fields(&format!("metadata.name={name}"))
    };
    let mut events = std::pin::pin!(watcher::watcher(nodes, config));
    let found = first(&mut events).await?;
    *tries = Tries {
        pause: PAUSE.0,
        told: false,
    };
    let version = cluster.version().await.ok();
    info!(
        "watching Node {name} on API server {}",
        shown(version.as_ref())
    );
    let _ = news.send(News::Reached(version, found.map(Box::new)));
    loop {
        let _ = news.send(match next(&mut events).await? {
            Some(node) => News::Node(Box::new(node)),
            None => News::NoNode,
        });
    }
}

fn shown(version: Option<&Version>) -> String {
    version.map_or_else(|| "of unknown version".to_owned(), Version::to_string)
}

type Watched = Result<Event<Node>, watcher::Error>;

/// The Node at the end of the first listing.
async fn first(
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
