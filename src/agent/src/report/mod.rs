//! Telling the Node how far it is. The latest report wins: what could not be written while the API server was away is
//! replaced by what holds when it is back.

mod event;
mod pace;
mod patch;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};
use upgrade::Report;

pub use patch::message as sentence;

use crate::cluster::seen::NodeSeen;
use crate::cluster::{ApiError, Cluster, limited};

/// Pause before a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// Pause after the server said no: asking again soon would not change that.
const REFUSED: Duration = Duration::from_secs(30);

/// What is to be told, and the Node as it was seen last. Without a Node nothing can be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The report.
    pub report: Option<Report>,
    /// Our Node.
    pub node: Option<Arc<NodeSeen>>,
    /// The API server is reached.
    pub reached: bool,
    /// The node is about to reboot: what is left to tell is told now.
    pub hurry: bool,
}

/// Where the loop leaves what is to be told.
pub struct Reporter {
    wanted: watch::Sender<Wanted>,
    settled: watch::Receiver<bool>,
}

impl Reporter {
    /// Starts the writer.
    #[must_use]
    pub fn start(cluster: Arc<Cluster>) -> Self {
        let (wanted, receiver) = watch::channel(Wanted::default());
        let (settle, settled) = watch::channel(true);
        tokio::spawn(
            Writer {
                cluster,
                wanted: receiver,
                settle,
                written: None,
            }
            .run(),
        );
        Self { wanted, settled }
    }

    /// Leaves what is to be told; wakes the writer when it is something new.
    pub fn tell(&self, wanted: Wanted) {
        self.wanted.send_if_modified(|now| {
            let new = *now != wanted;
            *now = wanted;
            new
        });
    }

    /// A handle to wait for the writer before the network goes away.
    #[must_use]
    pub fn settled(&self) -> watch::Receiver<bool> {
        self.settled.clone()
    }
}

struct Writer {
    cluster: Arc<Cluster>,
    wanted: watch::Receiver<Wanted>,
    settle: watch::Sender<bool>,
    written: Option<Written>,
}

/// What was written last, when, and to which object: a Node that was deleted and registered anew knows nothing.
struct Written {
    report: Report,
    at: Instant,
    uid: String,
}

impl Writer {
    async fn run(mut self) {
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            let due = self.due(&wanted);
            self.settle.send_replace(due.is_none());
            let changed = match due {
                None => self.wanted.changed().await,
                Some(at) if at > Instant::now() => tokio::select! {
                    changed = self.wanted.changed() => changed,
                    () = sleep_until(at) => Ok(()),
                },
                Some(_) => {
                    self.write(&wanted).await;
                    Ok(())
                }
            };
            if changed.is_err() {
                return;
            }
        }
    }

    fn due(&mut self, wanted: &Wanted) -> Option<Instant> {
        let (report, node) = (wanted.report.as_ref()?, wanted.node.as_ref()?);
        if !wanted.reached {
            return None;
        }
        self.written = self
            .written
            .take()
            .filter(|written| written.uid == node.uid);
        if self.written.is_none() && patch::is_there(report, node) {
            self.remember(report, node);
        }
        let written = self
            .written
            .as_ref()
            .map(|written| (&written.report, written.at));
        let due = pace::due(written, report);
        due.map(|at| if wanted.hurry { Instant::now() } else { at })
    }

    fn remember(&mut self, report: &Report, node: &NodeSeen) {
        let (report, uid) = (report.clone(), node.uid.clone());
        self.written = Some(Written {
            report,
            at: Instant::now(),
            uid,
        });
    }

    async fn write(&mut self, wanted: &Wanted) {
        let (Some(report), Some(node)) = (&wanted.report, &wanted.node) else {
            return;
        };
        match self.patch(report, node).await {
            Ok(()) => self.after(report.clone(), node).await,
            Err(error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_))) => {
                debug!("the report could not be written yet: {error}");
                self.pause(RETRY).await;
            }
            Err(error) => {
                warn!("the API server does not take our report: {error}");
                self.pause(REFUSED).await;
            }
        }
    }

    /// Waits a little, or until there is something else to tell.
    async fn pause(&mut self, time: Duration) {
        let _ = tokio::time::timeout(time, self.wanted.changed()).await;
        self.wanted.mark_changed();
    }

    async fn patch(&self, report: &Report, node: &NodeSeen) -> Result<(), ApiError> {
        let nodes = self.cluster.nodes().await?;
        let body = Patch::Strategic(patch::body(report, node, Timestamp::now()));
        limited(nodes.patch_status(&node.name, &PatchParams::default(), &body)).await?;
        Ok(())
    }

    async fn after(&mut self, report: Report, node: &NodeSeen) {
        let new = |last: &Report| {
            (&last.answer, &last.reason, &last.status.phase)
                != (&report.answer, &report.reason, &report.status.phase)
        };
        let event = self.written.as_ref().is_none_or(|last| new(&last.report));
        self.remember(&report, node);
        if event {
            // Not awaited by the next report: an Event is a courtesy.
            event::publish(&self.cluster, &report, node, Timestamp::now()).await;
        }
    }
}
