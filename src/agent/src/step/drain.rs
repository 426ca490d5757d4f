//! The steps that the API server performs.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;
use upgrade::serving::{NodePod, Offer, Serving, are_renewed};
use upgrade::step::Effect;
use upgrade::{Disposition, Doing, Reason, UpgradeId};

use crate::cluster::{ApiError, Cluster, refused, undrained};
use crate::drain::{self, Drain, LIST_PODS};
use crate::hands::{Ended, Errand};
use crate::kubelet;
use crate::serving;

/// Pause before the server is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// How long the kubelet of the old system may take to report its pods after a trial.
const REPORTED: Duration = Duration::from_secs(30);

/// For how long a rehearsal holds: longer than a deployment takes.
const FRESH: Duration = Duration::from_secs(300);

/// The API server and the inputs of a step's requests.
pub(super) struct Server<'a> {
    pub cluster: &'a Cluster,
    pub node: Option<&'a str>,
    pub errand: &'a Errand,
    pub held: &'a Held,
}

/// When this agent last rehearsed.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<Mutex<Option<Instant>>>);

impl Held {
    fn note(&self) {
        *self.moment() = Some(Instant::now());
    }

    /// Whether what it found still holds. An agent that has just started does not know, nor which
    /// boot it was in.
    fn is_fresh(&self) -> bool {
        self.moment().is_some_and(|held| held.elapsed() < FRESH)
    }

    fn moment(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Server<'a> {
    /// Finds what kubeadm would undo on the system at this root, then what would block the drain.
    /// Where no pod is evicted, nothing does.
    pub async fn rehearse(self, root: Option<&Path>) -> Result<Ended, Reason> {
        self.settings(root).await?;
        let blocked = self.blocked().await?;
        self.held.note();
        Ok(Ended::Done(Effect::Rehearsed { blocked }))
    }

    async fn settings(&self, root: Option<&Path>) -> Result<(), Reason> {
        let Some(root) = root else { return Ok(()) };
        let policy = &self.errand.policy.kubeadm;
        let forecast = kubelet::forecast(root, self.cluster, policy).await?;
        for setting in forecast.told() {
            warn!("kubeadm upgrade node will undo a setting of the kubelet: {setting}");
        }
        forecast.refusal.map_or(Ok(()), Err)
    }

    async fn blocked(&self) -> Result<Option<Reason>, Reason> {
        if self.errand.policy.drain.skip {
            return Ok(None);
        }
        let drain = &self.errand.policy.drain;
        let blocked = drain::rehearse(self.cluster, self.node()?, drain).await;
        blocked.map_err(|error| error.into_reason(refused(LIST_PODS)))
    }

    /// The rehearsal once more, just before the cordon, where much may have changed since: the
    /// hours were closed, the Node was paused, or the machine was off. What it refuses comes before
    /// the cordon. What would only block the drain is told. A server that is away is the drain's
    /// matter.
    async fn rehearse_again(&self, root: Option<&Path>) -> Result<(), Reason> {
        if self.held.is_fresh() {
            return Ok(());
        }
        match self.settings(root).await {
            Ok(()) => {}
            Err(reason) if reason.disposition() == Disposition::Retry => return Ok(()),
            Err(reason) => return Err(reason),
        }
        match self.blocked().await {
            Ok(Some(blocked)) => {
                warn!("before the cordon: {blocked}");
                self.say(blocked.told());
            }
            Ok(None) => {}
            Err(reason) => warn!("the drain was not rehearsed again: {reason}"),
        }
        self.held.note();
        Ok(())
    }

    pub async fn exclude(self) -> Result<Ended, Reason> {
        let done = drain::exclude(self.cluster, self.node()?, self.id()?).await;
        ended(done, refused("keep load balancers off this node"))
    }

    pub async fn release(self) -> Result<Ended, Reason> {
        let done = drain::release(self.cluster, self.node()?, self.id()?).await;
        ended(done, undrained("uncordon this node"))
    }

    pub async fn unmark(self) -> Result<Ended, Reason> {
        let done = drain::unmark(self.cluster, self.node()?).await;
        ended(done, refused("remove its marks from this Node"))
    }

    pub async fn settle(self) -> Result<Ended, Reason> {
        let done = drain::settle(self.cluster, self.node()?).await;
        ended(
            done,
            refused("remove the keys of [neighbours] from this Node"),
        )
    }

    /// Rehearses again if that is due, notes how the node serves, then drains it.
    pub async fn drain(
        self,
        spent_seconds: u64,
        root: Option<&Path>,
        mut serving: Serving,
    ) -> Result<Ended, Reason> {
        let (node, id) = (self.node()?, self.id()?);
        let policy = &self.errand.policy.drain;
        let progress = |percent, text| {
            let doing = Doing { percent, text };
            self.errand.doing.send_replace(Some(doing));
        };
        let spent = Duration::from_secs(spent_seconds);
        let work = async {
            let begun = Instant::now();
            self.rehearse_again(root).await?;
            let limit = Duration::from_secs(policy.deadline_seconds).saturating_sub(spent);
            serving.node = self.offer(node, limit).await;
            let drain = Drain {
                cluster: self.cluster,
                node,
                id,
                policy,
                neighbours: &self.errand.policy.neighbours,
                spent: spent.saturating_add(begun.elapsed()),
                progress: &progress,
            };
            drain.run().await
        };
        match self.errand.unless_cancelled(work).await? {
            Ended::Done(_) => Ok(Ended::Done(Effect::Drained { serving })),
            Ended::Cancelled => Ok(Ended::Cancelled),
        }
    }

    /// What the server has of the node in service. The drain waits for a server that is away, and
    /// so does this, within the drain's time. `None` if the server refuses.
    async fn offer(&self, node: &str, limit: Duration) -> Option<Offer> {
        let answered = async {
            loop {
                match serving::offer(self.cluster, node).await {
                    Ok(offer) => return Some(offer),
                    Err(
                        error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_)),
                    ) => {
                        self.say(format!("cannot read how this node serves yet: {error}"));
                    }
                    Err(error) => {
                        tracing::warn!("the trial is not compared with this system: {error}");
                        return None;
                    }
                }
                tokio::time::sleep(AGAIN).await;
            }
        };
        tokio::time::timeout(limit, answered).await.ok().flatten()
    }

    fn say(&self, text: String) {
        let doing = Doing { percent: 0, text };
        self.errand.doing.send_replace(Some(doing));
    }

    /// The node's pods in this boot of the old system, if some are noted. The kubelet may not have
    /// reported them yet, so this waits a moment for it. A server that is away does not hold up the
    /// trial: then the note stays.
    pub async fn pods(&self, noted: Option<&[NodePod]>) -> Option<Vec<NodePod>> {
        let (noted, node) = (noted?, self.node?);
        let (mut pods, mut before) = (None, false);
        let looked = async {
            loop {
                if let Ok(offer) = serving::offer(self.cluster, node).await {
                    let done = are_renewed(noted, &offer.pods);
                    pods = Some(offer.pods);
                    // One list may lack a pod for a moment.
                    if done && before {
                        return;
                    }
                    before = done;
                }
                tokio::time::sleep(AGAIN).await;
            }
        };
        let _ = tokio::time::timeout(REPORTED, looked).await;
        pods
    }

    fn node(&self) -> Result<&'a str, Reason> {
        self.node.ok_or_else(|| Reason::ApiAway {
            detail: "this node's Node was not read yet".to_owned(),
        })
    }

    /// The upgrade that the cordon belongs to.
    fn id(&self) -> Result<&'a UpgradeId, Reason> {
        let id = self.errand.id.as_ref();
        id.ok_or_else(|| Reason::DrainRefused {
            detail: "no upgrade needs a drain".to_owned(),
        })
    }
}

fn ended(
    done: Result<(), ApiError>,
    refused: impl FnOnce(String) -> Reason,
) -> Result<Ended, Reason> {
    let done = done.map_err(|error| error.into_reason(refused));
    done.map(|()| Ended::Done(Effect::Plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn rehearsal_is_due_again_after_five_minutes_or_a_restart() {
        let held = Held::default();
        assert!(!held.is_fresh(), "the agent has just started");
        held.note();
        tokio::time::advance(FRESH / 2).await;
        assert!(held.clone().is_fresh());
        tokio::time::advance(FRESH).await;
        assert!(!held.is_fresh());
    }
}
