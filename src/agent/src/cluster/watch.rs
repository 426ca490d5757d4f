//! The one watch: this agent's Node, and with it whether the agent reaches the API server.
//!
//! The agent polls nothing: an idle agent costs the server one watch, which ends at the server's
//! own time limit and is renewed. While the server is unreachable, the agent retries the watch with
//! a growing pause.

use std::sync::Arc;
use std::time::Duration;

use client::{NoAnswer, Node, chain};
use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Config, Event, InitialListStrategy};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{info, warn};
use upgrade::Version;

use super::seen::NodeSeen;
use super::{ApiError, Cluster};

/// The message when the Node object is gone.
pub const GONE: &str = "the Node object is gone from the API server: restart the kubelet (systemctl restart kubelet) to have it registered again";

/// Pauses between attempts: the first, doubled each time, and the longest. The longest limits how
/// late the agent notices that the server is back.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// News about the API server and the Node.
#[derive(Debug)]
pub enum News {
    /// The server answers: its version, if it reports it, and the Node, if there is one. They come
    /// together, because a consumer of the first needs the second.
    Reached(Option<Version>, Option<Box<NodeSeen>>),
    /// The server's version, if it did not report it at once. Comes only while the agent reaches
    /// the server.
    Version(Version),
    /// The server answers and does not report its version: why, for a person. Comes only while the
    /// agent reaches the server.
    Unversioned(String),
    /// The server does not answer.
    Away(String),
    /// The current Node. Comes only while the agent reaches the server.
    Node(Box<NodeSeen>),
    /// No such Node exists.
    NoNode,
}

/// Watches forever.
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
        // One line per outage, not one per attempt.
        if !std::mem::replace(&mut tries.told, true) {
            warn!("cannot reach the API server: {error}");
        }
        let _ = news.send(News::Away(error.to_string()));
        tokio::time::sleep(tries.pause).await;
        tries.pause = (tries.pause * 2).min(PAUSE.1);
    }
}

/// Attempts since the agent last reached the server.
struct Tries {
    pause: Duration,
    told: bool,
}

/// One life of the watch, from connecting to the first error or to the kubelet's next credential.
/// It requests the Node's name each time. A node that joined again may have another name, and the
/// server would refuse the old one forever.
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

/// Requests the version until it is known, and then waits forever. Without it the agent deploys
/// nothing. It reports once why the version is unknown.
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

/// How to allow the request, for the person who must fix it.
const MAY_READ: &str = "Kubernetes lets everybody read it (ClusterRole system:public-info-viewer): bind that to system:authenticated again, or fix the proxy before the API server";

/// Why the version is unknown. A server that refuses is not unreachable, and does not recover on
/// its own.
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

/// Passes on the Node's changes until the credential changes. It checks the credential at each
/// event. A Node whose kubelet has left is soon marked as such, or deleted, and the old connection
/// would continue to serve its watch.
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
        // A credential that cannot be read is just being written.
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

/// The Node at the end of the first listing, which must come in time. A server that accepts the
/// connection and sends nothing is unreachable, and the watch tolerates a far longer silence.
async fn first(
    events: &mut (impl Stream<Item = Watched> + Unpin),
    limit: Duration,
) -> Result<Option<NodeSeen>, ApiError> {
    let listed = tokio::time::timeout(limit, listed(events)).await;
    listed.unwrap_or_else(|_| Err(NoAnswer(limit).into()))
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

/// The Node after its next change.
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
