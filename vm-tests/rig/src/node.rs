//! The cluster's view of the one node. The rig follows it with a single watch and never polls.
//!
//! A client started per question costs as much CPU as the guest; a kept connection costs nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::names;
use upgrade::report::Status;

use crate::patience::within;

/// The name of the node in every cluster of the rig.
pub const NAME: &str = "node1";

/// The parts of a Node that scenarios look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// The short answer, `InProgress`, `Upgraded` or `Failed`.
    pub answer: Option<String>,
    /// The failure reason, one sentence.
    pub reason: Option<String>,
    /// The agent's status.
    pub status: Option<Status>,
    /// The answer to a plan request.
    pub plan: Option<String>,
    /// The value of the kubelet's Ready condition.
    pub ready: bool,
    /// Whether the node is not cordoned.
    pub schedulable: bool,
    /// The actor that cordoned the node, if it was the agent.
    pub cordoned_by: Option<String>,
    /// The boot that the kubelet reported.
    pub boot: String,
    /// The kubelet's version.
    pub kubelet: String,
    /// The reason of the condition `CareenUpgrading`, after its status.
    pub condition: Option<String>,
}

/// One change of the Node and when it was seen.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When the watch reported it.
    pub at: Instant,
    /// The state of the Node at that time.
    pub view: View,
}

/// A watch on the Node. Dropping it ends it.
#[derive(Debug)]
pub struct NodeWatch {
    latest: watch::Receiver<Option<View>>,
    history: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl View {
    /// The phase in the agent's status, or nothing.
    #[must_use]
    pub fn phase(&self) -> &str {
        self.status.as_ref().map_or("", |status| &status.phase)
    }

    /// The view of this object.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let annotation = |name: &str| node.annotations().get(name).cloned();
        let status = node.status.as_ref();
        let info = status.and_then(|status| status.node_info.as_ref());
        let conditions = status
            .and_then(|status| status.conditions.as_deref())
            .unwrap_or_default();
        let condition = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
        let describe = |found: &k8s_openapi::api::core::v1::NodeCondition| {
            format!(
                "{} {}",
                found.status,
                found.reason.as_deref().unwrap_or_default()
            )
        };
        Self {
            answer: annotation(names::ANSWER),
            reason: annotation(names::FAILURE_REASON),
            status: annotation(names::STATUS).and_then(|text| serde_json::from_str(&text).ok()),
            plan: annotation(names::PLAN_RESULT),
            ready: condition("Ready").is_some_and(|ready| ready.status == "True"),
            schedulable: !node
                .spec
                .as_ref()
                .and_then(|spec| spec.unschedulable)
                .unwrap_or_default(),
            cordoned_by: annotation(names::CORDONED_BY),
            boot: info.map(|info| info.boot_id.clone()).unwrap_or_default(),
            kubelet: info
                .map(|info| info.kubelet_version.clone())
                .unwrap_or_default(),
            condition: condition(names::CONDITION).map(describe),
        }
    }
}

impl NodeWatch {
    /// Starts watching the node of a cluster with one.
    #[must_use]
    pub fn start(client: Client) -> Self {
        Self::of(client, NAME)
    }

    /// Starts watching the node of this name.
    #[must_use]
    pub fn of(client: Client, name: &str) -> Self {
        let (tell, latest) = watch::channel(None);
        let history = Arc::default();
        let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let follows = follow(Api::all(client), only, tell, Arc::clone(&history));
        let task = tokio::spawn(follows);
        Self {
            latest,
            history,
            task,
        }
    }

    /// The current state of the Node, as far as the watch knows. It is empty before the node has
    /// joined.
    #[must_use]
    pub fn now(&self) -> View {
        self.latest.borrow().clone().unwrap_or_default()
    }

    /// Every change seen so far.
    #[must_use]
    pub fn history(&self) -> Vec<Seen> {
        self.history
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until the Node matches `wanted`.
    ///
    /// # Errors
    ///
    /// Fails when that does not happen in time. The message shows the current Node.
    pub async fn wait(
        &mut self,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&View) -> bool,
    ) -> Result<View> {
        let found = self
            .latest
            .wait_for(|view| view.as_ref().is_some_and(&wanted));
        if let Some(view) = within(limit, found).await {
            return view?.clone().context("the watch on the Node ended");
        }
        bail!(
            "not within {} s: {what}; the Node is {:#?}",
            limit.as_secs(),
            self.now()
        )
    }

    /// Waits for the next change, at most `limit`.
    pub async fn changed(&mut self, limit: Duration) {
        let _ = tokio::time::timeout(limit, self.latest.changed()).await;
    }
}

impl Drop for NodeWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(
    api: Api<Node>,
    only: watcher::Config,
    tell: watch::Sender<Option<View>>,
    history: Arc<Mutex<Vec<Seen>>>,
) {
    let mut events = std::pin::pin!(watcher(api, only));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(node) | Event::InitApply(node)) => {
                let view = View::of(&node);
                let changed = tell.borrow().as_ref() != Some(&view);
                if changed {
                    let seen = Seen {
                        at: Instant::now(),
                        view: view.clone(),
                    };
                    history
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(seen);
                    tell.send_replace(Some(view));
                }
            }
            Ok(_) => {}
            // The API server is away, perhaps because the scenario stopped it.
            Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }
}

/// The id of the current or last upgrade.
///
/// # Errors
///
/// Fails when there is none.
pub fn upgrade_id(view: &View) -> Result<String> {
    let id = view.status.as_ref().and_then(|status| status.id.as_ref());
    id.map(ToString::to_string)
        .ok_or_else(|| anyhow!("no upgrade id in the status"))
}
