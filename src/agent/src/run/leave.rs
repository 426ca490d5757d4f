//! The end of an agent that is stopped. The agent begins nothing more, and reports to the Node how
//! its upgrade ended. If a DaemonSet is uninstalled and the image has no agent, no later agent can
//! report it.

use std::time::Duration;

use tracing::{info, warn};

use super::Agent;
use crate::access::NodeAccess;
use crate::runner::Work;
use crate::trial::Trial;

/// How long the agent tries. Its unit waits three times as long (TimeoutStopSec).
const LAST_WORD: Duration = Duration::from_secs(20);

impl<H: NodeAccess> Agent<H> {
    /// Leaves what is under way and sends the pending report, but stops when `hurry` is ready.
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

    /// A step that continued during the last report could lead to a step after it.
    fn abandon(&mut self) {
        self.work.take().iter().for_each(Work::abandon);
        self.trial = Trial::default();
        self.planner.abandon();
    }

    /// Waits until the Node shows how its upgrade has ended.
    async fn last_word(&mut self) {
        let mut owed = self.reporter.owed();
        loop {
            // No later report follows, so there is no reason to save a write.
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
