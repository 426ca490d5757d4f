//! The end of an agent that is stopped: nothing is begun any more, and the Node hears how its upgrade has ended. Where a DaemonSet is uninstalled
//! and the image has no agent, no other comes that could tell it.

use std::time::Duration;

use tracing::{info, warn};

use super::Agent;
use crate::hands::Hands;
use crate::trial::Trial;
use crate::work::Work;

/// How long it tries. Its unit waits for three times as long (TimeoutStopSec).
const LAST_WORD: Duration = Duration::from_secs(20);

impl<H: Hands> Agent<H> {
    /// Leaves what is under way, and tells what is owed; no longer than until `hurry` is ready.
    pub(super) async fn leave(&mut self, hurry: impl Future<Output = ()>) {
        self.systemd.stopping();
        info!("stopping");
        self.abandon();
        let told = tokio::select! {
            biased;
            () = hurry => false,
            told = tokio::time::timeout(LAST_WORD, self.last_word()) => told.is_ok(),
        };
        if !told {
            warn!(
                "the API server did not take the upgrade's end in time. The next agent on this node reports it"
            );
        }
    }

    /// A step that went on beside the last word could lead to its own next.
    fn abandon(&mut self) {
        self.work.take().iter().for_each(Work::abandon);
        self.trial = Trial::default();
        self.planner.abandon();
    }

    /// Waits until the Node knows how its upgrade has ended.
    async fn last_word(&mut self) {
        let mut owed = self.reporter.owed();
        loop {
            // Nothing comes behind it that a write could be spared for.
            let report = self.reporter.report();
            self.reporter.tell(self.wanted(report, true));
            tokio::select! {
                biased;
                _ = owed.wait_for(|owed| !owed) => return,
                Some(news) = self.news.recv() => self.take(news),
            }
        }
    }
}
