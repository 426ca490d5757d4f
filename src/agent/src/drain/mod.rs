//! Drains the node with the kubelet's credential: cordon, evict in parallel, wait until the pods
//! are gone, their containers have ended and their volumes are detached.
//!
//! That credential may list the node's own pods and evict them, and little else. Once a pod is
//! gone, the Node authorizer answers a GET of it with 403, not 404. So the agent waits by LIST,
//! until no pod has the UID any more.

mod answers;
mod attachments;
mod budget;
mod change;
mod cordon;
mod evict;
mod exclude;
mod looks;
mod lost_marks;
pub(crate) mod own_pods;
mod pods;
mod rehearsal;
mod returning;
mod shield;
mod slow_pods;
mod still_running;
mod task;
mod volumes;
mod volumes_note;

use std::collections::HashSet;
use std::time::Duration;

use kube::Client;
use tokio::time::{Instant, sleep};
use tracing::warn;
use upgrade::drain_order::{self, Turn};
use upgrade::policy::AtDeadline;
use upgrade::{Reason, SinceBoot, UpgradeId};

use crate::cluster::marks::{self, Mark};
use crate::cluster::{ADMISSION, ApiError, Cluster, doubt, undrained};
use answers::{Answers, blocked, still_there};
use evict::{all, delete_all};
use looks::{APART, Looks};
use pods::{ENDED, Victim, found};
use returning::Returning;

pub use lost_marks::{Again, Away};
pub use rehearsal::{preview, rehearse};
pub use task::{Drain, Machine, Running};

/// A request, as a reason names it.
pub const LIST_PODS: &str = "list this node's pods";

/// How often the agent lists the pods while they terminate. Only while draining.
const LOOK: Duration = Duration::from_secs(1);

/// How long the cordon may take after the drain's time is over, for example when a server returns
/// that was unreachable all the time: at least one read and one write.
const CORDONING: Duration = Duration::from_secs(10).saturating_add(ADMISSION);

impl Drain<'_> {
    /// Cordons, evicts and waits. Dropping the future stops the drain between two requests.
    ///
    /// # Errors
    /// Why the drain did not end. The cordon stays until [`release`].
    pub async fn run(&self) -> Result<(), Reason> {
        let now = Instant::now();
        let start = now.checked_sub(self.spent).unwrap_or(now);
        let deadline = start + Duration::from_secs(self.policy.deadline_seconds);
        let unset = self.cordoned(deadline.max(now + CORDONING)).await?;
        if self.policy.skip {
            return Ok(());
        }
        let volumes = volumes::noted(self).await;
        if let Some(most) = self.emptied(start, deadline, &unset).await? {
            still_running::ended(self, most).await;
        }
        volumes::detached(self, volumes).await;
        Ok(())
    }

    /// Evicts until the pods are gone, or does at the deadline what the policy says. Returns for
    /// how many seconds at most the containers of one pod are waited for, if they are.
    async fn emptied(
        &self,
        start: Instant,
        deadline: Instant,
        unset: &[String],
    ) -> Result<Option<u64>, Reason> {
        let in_time = Ok(Some(self.policy.deadline_seconds));
        let mut returning = Returning::default();
        let emptied = self.until_empty(start, &mut returning, unset);
        let left = match tokio::time::timeout_at(deadline, emptied).await {
            Ok(result) => return result.and(in_time),
            Err(_) => self.left(start, &mut returning).await,
        };
        match self.policy.at_deadline {
            AtDeadline::Abort => left.map_or(in_time, Err),
            AtDeadline::Continue => Ok(None),
            AtDeadline::Force => {
                // The reboot ends the remaining pods, as the policy requires.
                let limit = Duration::from_secs(self.policy.force_seconds) + ENDED;
                let _ = tokio::time::timeout(limit, self.force(&mut returning)).await;
                Ok(Some(self.policy.force_seconds))
            }
        }
    }

    /// Evicts until the node is empty. `unset` are the shields that the server refused.
    async fn until_empty(
        &self,
        start: Instant,
        returning: &mut Returning,
        unset: &[String],
    ) -> Result<(), Reason> {
        let (mut answers, mut looks) = (Answers::default(), Looks::default());
        let mut turn = Turn::default();
        let (mut left, mut most) = (None, 1);
        loop {
            let mut hindrance = None;
            match self.victims(returning).await {
                Ok((client, victims)) => {
                    if looks.saw(victims.len(), Instant::now()) {
                        return Ok(());
                    }
                    most = most.max(victims.len());
                    left = Some(victims.len());
                    hindrance = answers.hindrance(&victims);
                    let at_turn = self.at_turn(&mut turn, &victims, start);
                    let open = answers.open(&at_turn, Instant::now());
                    let fresh = all(&client, open, false).await;
                    answers.take(fresh, Instant::now())?;
                }
                Err(error) => looks.failed(&error, Instant::now()),
            }
            let failing = looks.told(Instant::now());
            let notes = failing.into_iter().chain(hindrance);
            let notes = notes.chain(returning.told()).chain(told_unset(unset));
            self.say(left, most, notes, start);
            sleep(LOOK).await;
        }
    }

    /// The pods to evict now.
    fn at_turn(&self, turn: &mut Turn, victims: &[Victim], start: Instant) -> Vec<Victim> {
        let order = &self.policy.order;
        let place = |victim: &Victim| drain_order::place(order, &victim.namespace, victim.priority);
        let left: Vec<_> = victims.iter().map(place).collect();
        let now = SinceBoot(0).plus_seconds(start.elapsed().as_secs());
        turn.go_on(order, &left, now);
        let at_turn = victims
            .iter()
            .filter(|victim| turn.has_come_for(place(victim)));
        at_turn.cloned().collect()
    }

    /// Sets the cordon first, so that no new pod is scheduled meanwhile, and waits for an
    /// unreachable API server. No policy continues without the cordon: an operator who accepts that
    /// pods are ended does not accept new ones. Returns the shields that the server refuses.
    async fn cordoned(&self, by: Instant) -> Result<Vec<String>, Reason> {
        let mut last = ApiError::Away("no answer".to_owned());
        let cordoned = async {
            loop {
                match self.cordon().await {
                    Err(
                        error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_)),
                    ) => last = error,
                    other => return other.map_err(uncordoned),
                }
                sleep(LOOK).await;
            }
        };
        match tokio::time::timeout_at(by, cordoned).await {
            Ok(result) => result,
            Err(_) => Err(uncordoned(last)),
        }
    }

    /// Cordons and shields the node in one write. An admission policy or a webhook may keep one of
    /// the keys to others: then the cordon and each shield has a write of its own, because a node
    /// without a shield can still be upgraded. Returns the shields that are not set.
    async fn cordon(&self) -> Result<Vec<String>, ApiError> {
        let nodes = self.cluster.nodes().await?;
        let shields = shield::wanted(self.neighbours);
        let ask = || cordon::cordon(&nodes, self.node, self.id, &shields);
        let all = doubt::lasting(doubt::SHORT, ask).await;
        let Err(error @ (ApiError::Refused(_) | ApiError::Unfit(_))) = all else {
            return all.map(|()| Vec::new());
        };
        if shields.is_empty() {
            return Err(error);
        }
        cordon::cordon(&nodes, self.node, self.id, &[]).await?;
        warn!("the API server does not take the cordon with the keys of [neighbours]: {error}");
        let mut unset = Vec::new();
        for shield in &shields {
            let alone = std::slice::from_ref(shield);
            match cordon::cordon(&nodes, self.node, self.id, alone).await {
                Err(error @ (ApiError::Refused(_) | ApiError::Unfit(_))) => {
                    unset.push(not_set(shield, &error));
                }
                // A server that is away is asked again, for all of them.
                other => other?,
            }
        }
        Ok(unset)
    }

    async fn victims(&self, returning: &mut Returning) -> Result<(Client, Vec<Victim>), ApiError> {
        let client = self.cluster.client().await?;
        let found = own_pods::own_pods(&client, self.node, found).await?;
        Ok((client, returning.sift(found)))
    }

    /// `left` is the number of pods in the last list, if one was answered.
    fn say(
        &self,
        left: Option<usize>,
        most: usize,
        notes: impl Iterator<Item = String>,
        start: Instant,
    ) {
        let gone = left.map_or(0, |left| most.saturating_sub(left) * 100 / most);
        let seconds = start.elapsed().as_secs();
        let notes: String = notes.map(|note| format!("; {note}")).collect();
        let pods = left.map_or_else(
            || "the pods are not known".to_owned(),
            |left| format!("{left} of {most} pods left"),
        );
        let text = format!("draining: {pods} after {seconds} s{notes}");
        (self.progress)(u8::try_from(gone).unwrap_or(100), text);
    }

    /// What blocked the drain at the deadline, or `None` if it has just gone.
    async fn left(&self, start: Instant, returning: &mut Returning) -> Option<Reason> {
        let seconds = start.elapsed().as_secs();
        let (client, victims) = match self.left_for_sure(returning).await {
            Ok(found) => found,
            Err(error) => return Some(error.into_reason(undrained(LIST_PODS))),
        };
        if victims.is_empty() {
            return None;
        }
        let answers = all(&client, victims, true).await;
        let deadline = || Reason::DrainDeadline {
            pods: still_there(&answers),
            seconds,
        };
        Some(blocked(&answers, seconds).unwrap_or_else(deadline))
    }

    /// The pods of this list, or of the next one if this list is empty.
    async fn left_for_sure(
        &self,
        returning: &mut Returning,
    ) -> Result<(Client, Vec<Victim>), ApiError> {
        let found = self.victims(returning).await?;
        if !found.1.is_empty() {
            return Ok(found);
        }
        sleep(APART).await;
        self.victims(returning).await
    }

    /// Deletes each pod that is left, with the smaller of its own grace period and the policy's
    /// limit, and waits as long.
    async fn force(&self, returning: &mut Returning) {
        let begun = Instant::now();
        let (mut looks, mut deleted) = (Looks::default(), HashSet::new());
        let mut longest = None;
        loop {
            match self.victims(returning).await {
                Ok((client, victims)) => {
                    if looks.saw(victims.len(), Instant::now()) {
                        return;
                    }
                    let given = |victim: &Victim| slow_pods::given(victim, self.policy);
                    longest = longest.max(victims.iter().map(given).max());
                    self.say_forced(victims.len());
                    let fresh = victims.into_iter();
                    let fresh = fresh.filter(|victim| !deleted.contains(&victim.uid));
                    let fresh: Vec<_> = fresh.map(|victim| (given(&victim), victim)).collect();
                    let ending = delete_all(&client, fresh).await;
                    deleted.extend(ending);
                }
                Err(error) => looks.failed(&error, Instant::now()),
            }
            let over = |longest| begun.elapsed() >= Duration::from_secs(longest) + ENDED;
            if longest.is_some_and(over) {
                return;
            }
            sleep(LOOK).await;
        }
    }

    fn say_forced(&self, left: usize) {
        let seconds = self.policy.force_seconds;
        let text = format!(
            "draining: the deadline is over; deleting {left} pods, each with {seconds} s at most"
        );
        (self.progress)(100, text);
    }
}

/// The reason why the node has no cordon.
fn uncordoned(error: ApiError) -> Reason {
    error.into_reason(undrained("cordon this node"))
}

/// Asks load balancers to exclude the node.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn exclude(cluster: &Cluster, node: &str, id: &UpgradeId) -> Result<(), ApiError> {
    exclude::exclude(&cluster.nodes().await?, node, id).await
}

/// Removes this upgrade's own cordon, and readmits the node to load balancers. The server may
/// refuse one of the two.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn release(cluster: &Cluster, node: &str, id: &UpgradeId) -> Result<(), ApiError> {
    let nodes = cluster.nodes().await?;
    let uncordoned = cordon::release(&nodes, node, id).await;
    let readmitted = exclude::readmit(&nodes, node, id).await;
    uncordoned.and(readmitted)
}

/// Removes the marks that mark nothing, all in one write. Of an upgrade that has the node, the keys
/// that keep others off it are set again instead.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn unmark(
    cluster: &Cluster,
    node: &str,
    away: Option<&Away<'_>>,
) -> Result<(), ApiError> {
    let nodes = &cluster.nodes().await?;
    let write = |marks: Vec<Mark>| async move {
        change::change(nodes, node, |seen| lost_marks::answered(seen, &marks, away)).await
    };
    change::apart(&marks::ALL, write).await
}

/// Removes Careen's shields, of any upgrade, in one write.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn settle(cluster: &Cluster, node: &str) -> Result<(), ApiError> {
    let nodes = &cluster.nodes().await?;
    let write = |shields: Vec<Mark>| async move {
        change::change(nodes, node, |seen| shield::lowered(seen, &shields)).await
    };
    change::apart(&marks::SHIELDS, write).await
}

/// A shield that the server does not take, for a person.
fn not_set(shield: &Mark, error: &ApiError) -> String {
    let not_set = format!("{} is not set: {error}", shield.name());
    warn!("{not_set}");
    not_set
}

fn told_unset(unset: &[String]) -> Option<String> {
    (!unset.is_empty()).then(|| unset.join("; "))
}
