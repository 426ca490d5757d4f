//! The reconcilers: each processes one Machine at a time: look, decide, write. The hook flow uses
//! them for its writes, and the annotation flow for everything.

mod annotation;
mod hook;
mod perform;
mod report;
mod vouch;

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use kube::Client;
use tokio::sync::{Semaphore, watch};
use tracing::{debug, error, warn};

use crate::engine::{Answer, Instruction, Machine, Why, clean};
use crate::events::Happened;
use crate::lease::Lead;
use crate::machines::{Group, Key, On};
use crate::queue::Queue;
use crate::world::World;
use crate::writes::WriteError;
use crate::writes::infra::{InfraMachine, InfraMachines, InfraReport};

/// How many Machines of one Cluster are processed in parallel. Each makes at most a few requests at
/// a time. A server that hangs occupies only the slots of its own Cluster.
const SIDE_BY_SIDE: usize = 32;

/// When to look again at a held Machine of the annotation flow, or at one at rest whose node is not
/// visible. The cause may pass without an event.
const HELD: Duration = Duration::from_secs(15);

/// The worker that processes Machines.
pub struct Worker {
    world: Arc<World>,
    client: Client,
    extension: String,
    infra: InfraMachines,
    leads: watch::Receiver<Lead>,
    rooms: Mutex<HashMap<Key, Arc<Semaphore>>>,
    turns: Mutex<HashMap<Group, Arc<tokio::sync::Mutex<()>>>>,
    told: Mutex<HashMap<Key, InfraReport>>,
    /// The last call for each Machine that its InfraMachine confirms.
    vouched: Mutex<HashMap<Key, Instruction>>,
    /// Machines at rest whose InfraMachine reports nothing else.
    settled: Mutex<HashSet<Key>>,
    arrived: Mutex<HashMap<Key, String>>,
}

impl Worker {
    /// A worker; [`Self::run`] starts it. The name is that of the ExtensionConfig through which
    /// core calls the provider.
    #[must_use]
    pub fn new(
        world: Arc<World>,
        client: Client,
        extension: String,
        leads: watch::Receiver<Lead>,
    ) -> Self {
        Self {
            extension,
            infra: InfraMachines::new(client.clone()),
            world,
            client,
            leads,
            rooms: Mutex::default(),
            turns: Mutex::default(),
            told: Mutex::default(),
            vouched: Mutex::default(),
            settled: Mutex::default(),
            arrived: Mutex::default(),
        }
    }

    /// Processes Machines for ever.
    pub async fn run(self: Arc<Self>) {
        loop {
            let key = self.world.queue.next().await;
            let this = Arc::clone(&self);
            tokio::spawn(async move {
                let room = this.room(&key);
                let Ok(_place) = room.acquire().await else {
                    return;
                };
                // Boxed, because a look is large and thousands may wait for a slot.
                let look = Box::pin(this.turn_to(&key));
                if !survived(&this.world.queue, &key, look).await {
                    this.world.metrics.failed("panic");
                }
            });
        }
    }

    /// The slots of a Machine's Cluster.
    fn room(&self, key: &Key) -> Arc<Semaphore> {
        let places = || Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let machine = self.world.machines.get(key);
        machine.map_or_else(places, |machine| {
            let mut rooms = lock(&self.rooms);
            Arc::clone(rooms.entry(machine.cluster_key()).or_insert_with(places))
        })
    }

    async fn turn_to(&self, key: &Key) {
        let begun = Instant::now();
        let metrics = &self.world.metrics;
        match self.look(key).await {
            Ok(answer) => {
                metrics.looked(
                    answer.map_or("None", |answer| answer.class()),
                    begun.elapsed(),
                );
                self.world.wrote(key, None);
                self.world.queue.done(key);
            }
            Err(error) => {
                // A write that belongs to another replica is not a failure.
                if !matches!(error, WriteError::Follows) {
                    metrics.failed(error.class());
                }
                self.failed(key, &error);
                let pause = self.world.queue.failed(key);
                if let WriteError::Refused(_) = error {
                    warn!(machine = %key, "{error}; retrying in {pause:?}");
                } else {
                    debug!(machine = %key, "{error}; retrying in {pause:?}");
                }
            }
        }
    }

    /// A failed write must not look like a wait for the node.
    fn failed(&self, key: &Key, error: &WriteError) {
        let text = clean(&error.to_string());
        match error {
            WriteError::Conflict | WriteError::Missing => {}
            WriteError::Away(_) | WriteError::Follows => self.world.wrote(key, Some(text)),
            WriteError::Refused(_) => {
                if let Some(machine) = self.world.machines.get(key) {
                    self.say_unwritten(&machine, &text);
                }
                self.world.wrote(key, Some(text));
            }
        }
    }

    /// Reports an Event of the Machine. If a write is rejected, there may be no other place to
    /// report it.
    fn say_unwritten(&self, machine: &Machine, detail: &str) {
        let why = Why::Unwritten {
            detail: clean(detail),
        };
        self.world.happened(Happened::to_machine(machine, &why));
    }

    /// Processes a Machine once. The leader processes every Machine. Any replica processes a
    /// Machine that core has just called it for, but sends no request to its node.
    async fn look(&self, key: &Key) -> Result<Option<Answer>, WriteError> {
        let Some(machine) = self.world.machines.get(key) else {
            self.world.forget(key);
            self.forget(key);
            return Ok(None);
        };
        self.world.saw(&machine);
        let called = self.world.was_told_lately(key);
        if !self.leads() && !called {
            // The leader has probably reported something else to the InfraMachine since.
            lock(&self.told).remove(key);
            lock(&self.settled).remove(key);
            return Ok(None);
        }
        if !self.world.synced() {
            return Err(WriteError::Away(
                "the first lists are not complete yet".to_owned(),
            ));
        }
        if !machine.asked && !machine.in_progress && machine.mark.is_none() {
            return self.settle(&machine).await;
        }
        lock(&self.settled).remove(key);
        if machine.asked && !machine.in_progress {
            return self.by_annotation(&machine).await.map(Some);
        }
        self.by_hook(&machine).await.map(Some)
    }

    /// The InfraMachine of a Machine. What is wrong with its keys is told.
    async fn infra_of(&self, machine: &Machine) -> Result<InfraMachine, WriteError> {
        let infra = self.infra.of(machine).await?;
        let (meta, (api_version, kind)) = (infra.metadata(), infra.kind());
        self.world
            .answer_near_misses(meta, api_version, kind, On::Infra);
        Ok(infra)
    }

    fn leads(&self) -> bool {
        self.leads.borrow().holds()
    }

    fn forget(&self, key: &Key) {
        lock(&self.told).remove(key);
        lock(&self.vouched).remove(key);
        lock(&self.settled).remove(key);
        lock(&self.arrived).remove(key);
        // Groups and Clusters are dropped with their last Machine. Their users still hold what is
        // in use.
        lock(&self.turns).retain(|_, turn| Arc::strong_count(turn) > 1);
        lock(&self.rooms).retain(|_, room| Arc::strong_count(room) > 1);
    }
}

/// Whether a look finished. A panic is a bug that concerns one Machine. That Machine is retried
/// with growing pauses, and the others are processed meanwhile.
async fn survived(queue: &Queue<Key>, key: &Key, look: impl Future<Output = ()>) -> bool {
    let survived = AssertUnwindSafe(look).catch_unwind().await.is_ok();
    if !survived {
        let pause = queue.failed(key);
        error!(machine = %key, "careen-provider panicked over this Machine; retrying in {pause:?}");
    }
    survived
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_look_that_panics_leaves_its_machine_to_be_looked_at_again() {
        let queue = Queue::default();
        queue.add(Key::new("t", "m"));
        let key = queue.next().await;
        let fault = async { assert_eq!(queue.depth(), 0, "a fault") };
        assert!(!survived(&queue, &key, fault).await);
        let again = tokio::time::timeout(Duration::from_secs(10), queue.next()).await;
        assert_eq!(again.ok(), Some(key));
    }

    #[tokio::test]
    async fn a_look_that_ends_is_not_called_a_fault() {
        let (queue, key) = (Queue::default(), Key::new("t", "m"));
        assert!(survived(&queue, &key, std::future::ready(())).await);
        assert_eq!(queue.later(), 0);
    }
}
