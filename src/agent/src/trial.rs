//! The checks that run concurrently with the loop while a trial waits for its verdict, and no
//! longer.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::decide::RecordRead;
use upgrade::policy::in_force;
use upgrade::{Observation, PolicyRead, UpgradeId};

use crate::hands::{Hands, Local};
use crate::kubeadm;

/// The checks, if there is a trial.
#[derive(Default)]
pub struct Trial {
    running: Option<Checks>,
}

struct Checks {
    found: watch::Receiver<Option<Local>>,
    task: JoinHandle<()>,
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Trial {
    /// Starts the checks when a trial has begun, and stops them when it is over.
    pub fn follow<H: Hands>(
        &mut self,
        hands: &Arc<H>,
        read: &RecordRead,
        machine: &Observation,
        policy: &PolicyRead,
    ) {
        match (on_trial(read, machine), &self.running) {
            (Some(id), None) => {
                let (sender, found) = watch::channel(None);
                let (hands, policy) = (Arc::clone(hands), Arc::new(in_force(policy).clone()));
                let task = tokio::spawn(async move { hands.check(id, policy, sender).await });
                self.running = Some(Checks { found, task });
            }
            (None, Some(_)) => self.running = None,
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// Whether the first round is still running. An agent that was restarted late in a trial has no
    /// results yet, and that must not count as a bad system.
    #[must_use]
    pub fn is_looking(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|checks| checks.found.borrow().is_none())
    }

    /// The latest results.
    #[must_use]
    pub fn found(&self) -> Option<Local> {
        self.running
            .as_ref()
            .and_then(|checks| checks.found.borrow().clone())
    }

    /// Waits until the results change.
    pub async fn news(&mut self) {
        let changed = match &mut self.running {
            Some(checks) => checks.found.changed().await,
            None => std::future::pending().await,
        };
        if changed.is_err() {
            // The checks have ended, which they never do on their own. The deadline decides.
            std::future::pending::<()>().await;
        }
    }
}

/// The upgrade whose new system is on trial here.
fn on_trial(read: &RecordRead, machine: &Observation) -> Option<UpgradeId> {
    let record = read.as_ref().ok()?;
    let to = record.upgrade.as_ref()?.to.as_ref()?;
    kubeadm::on_trial(record)
        .filter(|_| to.same(&machine.machine.booted))
        .cloned()
}
