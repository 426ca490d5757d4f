//! Reports progress to the Node. The latest report wins: when the API server returns, the current
//! report replaces those that could not be written.

mod event;
mod lifecycle;
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
use upgrade::report::Answer;

pub use patch::message as sentence;

use event::Word;

use crate::cluster::seen::NodeSeen;
use crate::cluster::{ApiError, Cluster, admitted};

/// Pause before the agent retries a failed write.
const RETRY: Duration = Duration::from_secs(2);

/// Pause after the server refused a write: an early retry would not change the answer.
const REFUSED: Duration = Duration::from_secs(30);

/// How long after an accepted write the Node may still be seen without it. The watch delivers it
/// within a second. After this time, an etcd restored from a backup, or a person, has removed it.
const LOST: Duration = Duration::from_secs(30);

/// What to report, and the Node as last seen. Without a Node nothing can be reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToReport {
    /// The report.
    pub report: Option<Report>,
    /// The Node.
    pub node: Option<Arc<NodeSeen>>,
    /// The listing of the server that the Node was seen after.
    pub listing: u64,
    /// Whether the agent reaches the API server.
    pub reached: bool,
    /// Whether the node is about to reboot. Pending reports are then written immediately.
    pub hurry: bool,
}

/// Passes reports from the loop to the writer.
pub struct Reporter {
    wanted: watch::Sender<ToReport>,
    settle: watch::Sender<bool>,
    owe: watch::Sender<bool>,
}

impl Reporter {
    /// Starts the writer.
    #[must_use]
    pub fn start(cluster: Arc<Cluster>) -> Self {
        let (wanted, receiver) = watch::channel(ToReport::default());
        let settle = watch::Sender::new(true);
        let owe = watch::Sender::new(false);
        let writer = Writer {
            cluster,
            wanted: receiver,
            settle: settle.clone(),
            owe: owe.clone(),
            written: None,
        };
        tokio::spawn(writer.run());
        Self {
            wanted,
            settle,
            owe,
        }
    }

    /// Stores what to report, and wakes the writer if it is new.
    pub fn tell(&self, wanted: ToReport) {
        if *self.wanted.borrow() == wanted {
            return;
        }
        // Set this before the writer wakes. Otherwise a reboot that begins now could mistake the
        // last report's result for this one's.
        self.settle.send_replace(false);
        self.owe.send_replace(is_answered(wanted.report.as_ref()));
        self.wanted.send_replace(wanted);
    }

    /// What to report.
    #[must_use]
    pub fn report(&self) -> Option<Report> {
        self.wanted.borrow().report.clone()
    }

    /// A handle to wait for the writer before the network goes away.
    #[must_use]
    pub fn settled(&self) -> watch::Receiver<bool> {
        self.settle.subscribe()
    }

    /// Whether the Node does not yet show how its upgrade has ended, also while the server is
    /// unreachable.
    #[must_use]
    pub fn owed(&self) -> watch::Receiver<bool> {
        self.owe.subscribe()
    }
}

/// Whether it says how an upgrade has ended. The next agent continues to report an upgrade under
/// way.
fn is_answered(report: Option<&Report>) -> bool {
    let answer = report.and_then(|report| report.answer);
    matches!(answer, Some(Answer::Upgraded | Answer::Failed))
}

struct Writer {
    cluster: Arc<Cluster>,
    wanted: watch::Receiver<ToReport>,
    settle: watch::Sender<bool>,
    owe: watch::Sender<bool>,
    written: Option<Written>,
}

/// What was written last, when, and to which object. A Node that was deleted and registered again
/// has no report. A server that was unreachable may return in an earlier state, restored from a
/// backup.
struct Written {
    report: Report,
    at: Instant,
    uid: String,
    listing: u64,
}

impl Writer {
    async fn run(mut self) {
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            let due = self.due(&wanted);
            self.settle.send_replace(due.is_none());
            self.owe.send_replace(self.owes(&wanted));
            let changed = match due.or_else(|| self.due_again(&wanted)) {
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

    fn due(&mut self, wanted: &ToReport) -> Option<Instant> {
        let (report, node) = (wanted.report.as_ref()?, wanted.node.as_ref()?);
        if !wanted.reached {
            return None;
        }
        self.written = self
            .written
            .take()
            .filter(|written| written.uid == node.uid && written.listing == wanted.listing);
        if self.written.is_none() && patch::is_there(report, node) {
            self.remember(wanted, report, node);
        }
        let written = self
            .written
            .as_ref()
            .map(|written| (&written.report, written.at));
        let due = pace::due(written, report);
        due.map(|at| if wanted.hurry { Instant::now() } else { at })
    }

    /// Whether an answer is not yet written and could still be. An answer written before the server
    /// became unreachable counts as written.
    fn owes(&self, wanted: &ToReport) -> bool {
        let is_written = |written: &Written| Some(&written.report) == wanted.report.as_ref();
        let nobody = wanted.reached && wanted.node.is_none();
        let told = self.written.as_ref().is_some_and(is_written);
        is_answered(wanted.report.as_ref()) && !nobody && !told
    }

    /// When to write the same report again because the Node does not show it. No reboot waits for
    /// that.
    fn due_again(&self, wanted: &ToReport) -> Option<Instant> {
        let (report, node) = (wanted.report.as_ref()?, wanted.node.as_ref()?);
        let written = self.written.as_ref()?;
        let lost = wanted.reached && !wanted.hurry && !patch::is_there(report, node);
        lost.then(|| written.at + LOST)
    }

    fn remember(&mut self, wanted: &ToReport, report: &Report, node: &NodeSeen) {
        let (report, uid) = (report.clone(), node.uid.clone());
        self.written = Some(Written {
            report,
            at: Instant::now(),
            uid,
            listing: wanted.listing,
        });
    }

    async fn write(&mut self, wanted: &ToReport) {
        let (Some(report), Some(node)) = (&wanted.report, &wanted.node) else {
            return;
        };
        match self.patch(report, node).await {
            Ok(()) => self.after(wanted, report.clone(), node),
            Err(error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_))) => {
                debug!("cannot write the report yet: {error}");
                self.pause(RETRY).await;
            }
            Err(error) => {
                warn!("the API server rejects the report: {error}");
                self.pause(REFUSED).await;
            }
        }
    }

    /// Waits for a while, or until there is another report.
    async fn pause(&mut self, time: Duration) {
        let _ = tokio::time::timeout(time, self.wanted.changed()).await;
        self.wanted.mark_changed();
    }

    async fn patch(&self, report: &Report, node: &NodeSeen) -> Result<(), ApiError> {
        let nodes = self.cluster.nodes().await?;
        let body = Patch::Strategic(patch::body(report, node, Timestamp::now()));
        admitted(nodes.patch_status(&node.name, &PatchParams::default(), &body)).await?;
        Ok(())
    }

    fn after(&mut self, wanted: &ToReport, report: Report, node: &Arc<NodeSeen>) {
        let new = |last: &Report| {
            (&last.answer, last.now(), &last.status.phase)
                != (&report.answer, report.now(), &report.status.phase)
        };
        let keys = |last: &Report| last.status.unknown_keys != report.status.unknown_keys;
        let last = self.written.as_ref().map(|last| &last.report);
        let is_new = last.is_none_or(new) && !patch::is_silent(&report);
        let word = is_new.then(|| Word::of(&report));
        let unknown = Word::of_unknown_keys(&report).filter(|_| last.is_none_or(keys));
        self.remember(wanted, &report, node);
        for word in word.into_iter().chain(unknown) {
            // Runs in a separate task. An Event is a courtesy, and neither the next report nor a
            // reboot waits for it.
            let (cluster, node) = (Arc::clone(&self.cluster), Arc::clone(node));
            tokio::spawn(event::publish(cluster, word, node, Timestamp::now()));
        }
    }
}

#[cfg(test)]
mod tests;
