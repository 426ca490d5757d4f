//! The steps that the API server performs.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;
use upgrade::serving::{NodePod, Offer, Serving, are_renewed};
use upgrade::step::Effect;
use upgrade::{Disposition, Doing, Policy, Reason, UpgradeId, Version};

use crate::access::{Errand, StepEnd};
use crate::cluster::{ApiError, Cluster, doubt, refused, undrained};
use crate::drain::{self, Again, Away, Drain, LIST_PODS, Machine};
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
    pub volumes: &'a Path,
}

/// The running system, and what the trial brings to it.
#[derive(Clone, Copy)]
pub(super) struct System<'a> {
    /// Its root. `None` for a machine without a kubelet.
    pub root: Option<&'a Path>,
    /// The kubelet of the image, if its version is known.
    pub kubelet: Option<&'a Version>,
}

/// What this agent remembers from one step to the next.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The last rehearsal.
    rehearsed: Arc<Mutex<Option<Rehearsed>>>,
    /// What it has set again.
    again: Again,
}

/// A rehearsal.
#[derive(Clone, Debug)]
struct Rehearsed {
    at: Instant,
    /// The policy that it followed.
    policy: Arc<Policy>,
}

impl Held {
    pub(super) fn note(&self, policy: &Arc<Policy>) {
        let (at, policy) = (Instant::now(), Arc::clone(policy));
        *self.last() = Some(Rehearsed { at, policy });
    }

    /// Whether what it found still holds. An agent that has just started does not know, nor which
    /// boot it was in.
    pub(super) fn is_fresh(&self, policy: &Policy) -> bool {
        let is_new = |held: &Rehearsed| held.at.elapsed() < FRESH;
        self.follows(policy) && self.last().as_ref().is_some_and(is_new)
    }

    /// Whether this policy was the policy of the last rehearsal. Keys of another policy may refuse
    /// what the rehearsal let through.
    pub(super) fn follows(&self, policy: &Policy) -> bool {
        let last = self.last();
        last.as_ref().is_some_and(|held| *held.policy == *policy)
    }

    /// Whether the last rehearsal is known, and its policy had another `health.rehearse`.
    pub(super) fn demanded_otherwise(&self, policy: &Policy) -> bool {
        let demand = policy.health.rehearse;
        let last = self.last();
        last.as_ref()
            .is_some_and(|held| held.policy.health.rehearse != demand)
    }

    fn last(&self) -> MutexGuard<'_, Option<Rehearsed>> {
        self.rehearsed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Server<'a> {
    /// Finds what kubeadm would undo on the system at this root, then what would block the drain.
    /// Where no pod is evicted, nothing does.
    pub async fn rehearse(self, system: System<'_>) -> Result<StepEnd, Reason> {
        self.settings(system).await?;
        let blocked = self.blocked().await?;
        self.held.note(&self.errand.policy);
        Ok(StepEnd::Done(Effect::Rehearsed { blocked }))
    }

    /// Asks again what kubeadm would undo, if the policy is not that of the last rehearsal: a node
    /// may have waited for days since, and its operator may have made the policy stricter.
    pub async fn ask_before_arming(&self, system: System<'_>) -> Result<StepEnd, Reason> {
        if self.held.follows(&self.errand.policy) {
            return Ok(StepEnd::Done(Effect::Plain));
        }
        self.errand.unless_cancelled(self.settings(system)).await
    }

    async fn settings(&self, system: System<'_>) -> Result<(), Reason> {
        let Some(root) = system.root else {
            return Ok(());
        };
        let policy = &self.errand.policy.kubeadm;
        let forecast = kubelet::forecast(root, self.cluster, policy, system.kubelet).await?;
        for setting in forecast.told() {
            warn!("kubeadm upgrade node will undo a setting of the kubelet: {setting}");
        }
        forecast.refusal.map_or(Ok(()), Err)
    }

    async fn blocked(&self) -> Result<Option<Reason>, Reason> {
        if self.errand.policy.drain.skip {
            return Ok(None);
        }
        let (drain, node) = (&self.errand.policy.drain, self.node()?);
        let ask = || drain::rehearse(self.cluster, node, drain);
        let blocked = doubt::lasting(doubt::BEFORE_THE_CORDON, ask).await;
        blocked.map_err(|error| error.into_reason(refused(LIST_PODS)))
    }

    /// The rehearsal once more, just before the cordon, where much may have changed since: the
    /// hours were closed, the Node was paused, or the machine was off. What it refuses comes before
    /// the cordon. What would only block the drain is told. A server that is away is the drain's
    /// matter.
    async fn rehearse_again(&self, system: System<'_>) -> Result<(), Reason> {
        if self.held.is_fresh(&self.errand.policy) {
            return Ok(());
        }
        match self.settings(system).await {
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
        self.held.note(&self.errand.policy);
        Ok(())
    }

    pub async fn exclude(self) -> Result<StepEnd, Reason> {
        let (node, id) = (self.node()?, self.id()?);
        let ask = || drain::exclude(self.cluster, node, id);
        let done = doubt::lasting(doubt::SHORT, ask).await;
        ended(done, refused("keep load balancers off this node"))
    }

    pub async fn release(self) -> Result<StepEnd, Reason> {
        let done = drain::release(self.cluster, self.node()?, self.id()?).await;
        ended(done, undrained("uncordon this node"))
    }

    /// Sets again what keeps others off a node that is taken, where it was removed. Removes the
    /// other marks that mark nothing.
    pub async fn unmark(self, is_taken: bool) -> Result<StepEnd, Reason> {
        let neighbours = &self.errand.policy.neighbours;
        let id = self.errand.id.as_ref().filter(|_| is_taken);
        let away = id.map(|id| Away::new(id, neighbours, &self.held.again));
        let done = drain::unmark(self.cluster, self.node()?, away.as_ref()).await;
        ended(done, refused("remove its marks from this Node"))
    }

    pub async fn settle(self) -> Result<StepEnd, Reason> {
        let done = drain::settle(self.cluster, self.node()?).await;
        ended(
            done,
            refused("remove the keys of [neighbours] from this Node"),
        )
    }

    /// Rehearses again if that is due, notes how the node serves, then drains it. `serves` looks
    /// at what the API server does not know, which takes some seconds.
    pub async fn drain(
        self,
        spent_seconds: u64,
        system: System<'_>,
        machine: &dyn Machine,
        serves: impl Future<Output = Serving>,
    ) -> Result<StepEnd, Reason> {
        let (node, id) = (self.node()?, self.id()?);
        let policy = &self.errand.policy.drain;
        let progress = |percent, text| {
            let doing = Doing { percent, text };
            self.errand.doing.send_replace(Some(doing));
        };
        let spent = Duration::from_secs(spent_seconds);
        let mut serving = Serving::default();
        let work = async {
            let begun = Instant::now();
            self.rehearse_again(system).await?;
            let limit = Duration::from_secs(policy.deadline_seconds).saturating_sub(spent);
            let first = self.offer(node, limit).await;
            let spent = spent.saturating_add(begun.elapsed());
            serving = self.note(node, first, serves).await;
            let drain = Drain {
                cluster: self.cluster,
                node,
                id,
                policy,
                neighbours: &self.errand.policy.neighbours,
                spent,
                machine,
                volumes: self.volumes,
                progress: &progress,
            };
            drain.run().await
        };
        match self.errand.unless_cancelled(work).await? {
            StepEnd::Done(_) => Ok(StepEnd::Done(Effect::Drained { serving })),
            StepEnd::Cancelled => Ok(StepEnd::Cancelled),
        }
    }

    /// What the server has of the node in service. The drain waits for a server that is away, and
    /// so does this, within the drain's time. `None` if the server refuses for a while: without it,
    /// nothing of the trial is compared.
    async fn offer(&self, node: &str, limit: Duration) -> Option<Offer> {
        let answered = async {
            loop {
                let ask = || serving::noted(self.cluster, node);
                match doubt::lasting(doubt::BEFORE_THE_CORDON, ask).await {
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

    /// What the machine shows, and what the server has of the node meanwhile. One look could meet a
    /// pod that is being replaced, or a driver that registers again.
    async fn note(
        &self,
        node: &str,
        first: Option<Offer>,
        machine: impl Future<Output = Serving>,
    ) -> Serving {
        let Some(mut offer) = first else {
            return machine.await;
        };
        let serving = tokio::select! {
            serving = machine => serving,
            never = self.look_on(node, &mut offer) => match never {},
        };
        Serving {
            node: Some(offer),
            ..serving
        }
    }

    /// Looks again and again. A server that does not answer adds nothing.
    async fn look_on(&self, node: &str, offer: &mut Offer) -> Infallible {
        loop {
            tokio::time::sleep(serving::PAUSE).await;
            if let Ok(later) = serving::offer(self.cluster, node).await {
                *offer = std::mem::take(offer).joined(later);
            }
        }
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
) -> Result<StepEnd, Reason> {
    let done = done.map_err(|error| error.into_reason(refused));
    done.map(|()| StepEnd::Done(Effect::Plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn rehearsal_is_due_again_after_five_minutes_or_a_restart() {
        let (held, policy) = (Held::default(), Arc::new(Policy::default()));
        assert!(!held.is_fresh(&policy), "the agent has just started");
        held.note(&policy);
        tokio::time::advance(FRESH / 2).await;
        assert!(held.clone().is_fresh(&policy));
        tokio::time::advance(FRESH).await;
        assert!(!held.is_fresh(&policy));
        assert!(held.follows(&policy), "the same policy says the same");
    }

    #[tokio::test]
    async fn rehearsal_is_due_again_under_another_policy() {
        let (held, mut policy) = (Held::default(), Policy::default());
        held.note(&Arc::new(policy.clone()));
        policy.kubeadm.patches = "/srv/patches".into();
        assert!(!held.is_fresh(&policy) && !held.follows(&policy));
    }
}
