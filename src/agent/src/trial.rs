//! The checks that run concurrently with the loop while a trial waits for its verdict, and no
//! longer.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::decide::RecordRead;
use upgrade::phase::{Class, Phase};
use upgrade::policy::in_force;
use upgrade::serving::{Offer, Serving};
use upgrade::{Observation, PolicyRead, Record, UpgradeId};

use crate::access::{Local, NodeAccess};
use crate::serving::Watcher;
use crate::step::Tools;

/// The checks, if there is a trial.
#[derive(Default)]
pub struct Trial {
    running: Option<Checks>,
    serving: Option<Watcher>,
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
    pub fn follow<H: NodeAccess>(
        &mut self,
        tools: &Tools<H>,
        read: &RecordRead,
        machine: &Observation,
        policy: &PolicyRead,
    ) {
        match (on_trial(read, machine), &self.running) {
            (Some((id, served)), None) => {
                let (sender, found) = watch::channel(None);
                let (node, policy) = (Arc::clone(&tools.node), Arc::new(in_force(policy).clone()));
                let task =
                    tokio::spawn(async move { node.check(id, served, policy, sender).await });
                self.running = Some(Checks { found, task });
            }
            (None, Some(_)) => (self.running, self.serving) = (None, None),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// Looks at the Node and its pods once the node runs, if the old system's are noted.
    pub fn follow_node<H: NodeAccess>(
        &mut self,
        tools: &Tools<H>,
        read: &RecordRead,
        node: Option<&str>,
    ) {
        let runs = self.found().is_some_and(|local| local.runs());
        let noted = read.as_ref().is_ok_and(is_noted);
        if let (None, Some(node), true) = (&self.serving, node, runs && noted) {
            let cluster = Arc::clone(&tools.cluster);
            self.serving = Some(Watcher::start(cluster, node.to_owned()));
        }
    }

    /// What the server has of this node.
    #[must_use]
    pub fn offer(&self) -> Option<Offer> {
        self.serving.as_ref().and_then(Watcher::offer)
    }

    /// Whether the first round is still running. An agent that was restarted late in a trial has no
    /// results yet, and that must not count as a bad system.
    #[must_use]
    pub fn is_looking(&self) -> bool {
        let local = self.running.as_ref();
        let local = local.is_some_and(|checks| checks.found.borrow().is_none());
        local || self.serving.as_ref().is_some_and(Watcher::is_looking)
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
        tokio::select! {
            () = checked(self.running.as_mut()) => {}
            () = seen(self.serving.as_mut()) => {}
        }
    }
}

async fn checked(checks: Option<&mut Checks>) {
    let changed = match checks {
        Some(checks) => checks.found.changed().await,
        None => std::future::pending().await,
    };
    if changed.is_err() {
        // The checks have ended, which they never do on their own. The deadline decides.
        std::future::pending::<()>().await;
    }
}

async fn seen(serving: Option<&mut Watcher>) {
    match serving {
        Some(serving) => serving.news().await,
        None => std::future::pending().await,
    }
}

/// Whether the record has what the old system offered.
fn is_noted(record: &Record) -> bool {
    let up = record.upgrade.as_ref();
    up.is_some_and(|up| up.served.node.is_some())
}

/// The upgrade whose new system is on trial here, and how the old one served.
fn on_trial(read: &RecordRead, machine: &Observation) -> Option<(UpgradeId, Serving)> {
    let record = read.as_ref().ok()?;
    let up = record.upgrade.as_ref()?;
    let to = up.to.as_ref()?;
    let judged = is_judged(&up.phase) && to.same(&machine.machine.booted);
    judged.then(|| (up.id.clone(), up.served.clone()))
}

/// Whether the checks decide. Until the new system is the default, a check that fails takes a
/// verdict of healthy back.
const fn is_judged(phase: &Phase) -> bool {
    match phase.class() {
        Class::Trying { .. } => true,
        Class::Preparing
        | Class::Blessed
        | Class::Reverting { .. }
        | Class::Upgraded
        | Class::Failed { .. }
        | Class::Halted { .. } => false,
    }
}
