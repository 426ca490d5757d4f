//! Counts the agent's writes to its Node, as a watcher sees them.

use anyhow::{Context, Result};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::runtime::watcher::{Config, Event, watcher};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::names;

use crate::cluster::PATIENCE;
use crate::node::{TestNode, annotation, condition, is_cordoned};

/// A running count.
pub struct Changes {
    seen: watch::Receiver<(String, usize)>,
    task: JoinHandle<()>,
}

impl Changes {
    /// Starts to count.
    #[must_use]
    pub fn of(node: &TestNode) -> Self {
        let (count, seen) = watch::channel((String::new(), 0));
        let config = Config::default().fields(&format!("metadata.name={}", node.name));
        let nodes = node.nodes();
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(nodes, config));
            let mut last = None;
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(node) | Event::InitApply(node)) = event {
                    let now = Some(by_agent(&node));
                    let changed = usize::from(last.is_some() && now != last);
                    last = now;
                    let version = node.resource_version().unwrap_or_default();
                    count.send_modify(|(at, total)| (*at, *total) = (version, *total + changed));
                }
            }
        });
        Self { seen, task }
    }

    /// Waits until the count includes every write up to now, and ends it.
    ///
    /// # Errors
    /// When the watch does not catch up.
    pub async fn stop(mut self, node: &TestNode) -> Result<usize> {
        let version = node.now().await?.resource_version().unwrap_or_default();
        let wait = self.seen.wait_for(|(at, _)| *at == version);
        let total = tokio::time::timeout(PATIENCE, wait)
            .await
            .context("the watch lags")??
            .1;
        self.task.abort();
        Ok(total)
    }
}

/// The part of the Node that only the agent writes. Controllers also write the Node: taints, for
/// example.
fn by_agent(node: &Node) -> impl PartialEq + use<> {
    let answers = [
        names::ANSWER,
        names::FAILURE_REASON,
        names::STATUS,
        names::CORDONED_BY,
        names::SCALE_DOWN_REFUSED_BY,
    ];
    let beat = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref())
        .and_then(|all| {
            let ours = all
                .iter()
                .find(|condition| condition.type_ == names::CONDITION)?;
            ours.last_heartbeat_time.clone()
        });
    (
        answers.map(|key| annotation(node, key).to_owned()),
        condition(node),
        beat,
        is_cordoned(node),
    )
}
