//! The loop: what is queued, by which change, and who works on it.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use infrastructure::{Host, Phase, Policy};
use kube::api::{Api, ApiResource};
use kube::core::{DynamicResourceScope, ObjectMeta};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tracing::{debug, error, warn};

use super::by_host::ByHost;
use super::inventory::{Inventory, Known, Named};
use super::spans::Spans;
use super::starts::Starts;
use super::steady::Steady;
use super::taken::Taken;
use super::unready::Unready;
use super::wire;
use crate::clock;
use crate::lease::Lead;
use crate::machines::Key;
use crate::names;
use crate::queue::Queue;
use crate::world::World;
use crate::writes::{WriteError, provision as write};

/// How many objects are worked on at once.
const SIDE_BY_SIDE: usize = 8;

/// How long to wait for the first lists.
const UNSYNCED: Duration = Duration::from_secs(1);

/// How long what is counted of all hosts may be behind. Many hosts change at once, and each count
/// looks at all of them.
const COUNTS: Duration = Duration::from_secs(1);

/// An object in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A CareenMachine.
    Machine(Key),
    /// A CareenHost.
    Host(Key),
    /// A CareenCluster.
    Cluster(Key),
    /// A HostRegistration.
    Registration(Key),
    /// A CareenMachineTemplate.
    Template(Key),
    /// A CareenMachinePool.
    Pool(Key),
}

/// The infrastructure provider. Only the leader works.
pub struct Provision {
    pub(super) client: Client,
    pub(super) world: Arc<World>,
    pub(super) inventory: Inventory,
    pub(super) unready: Unready,
    pub(super) by_host: ByHost,
    pub(super) spans: Spans,
    pub(super) starts: Starts,
    pub(super) taken: Taken,
    pub(super) steady: Steady,
    /// Held while a registration lets in a host.
    pub(super) approving: tokio::sync::Mutex<()>,
    pub(super) policy: Policy,
    pub(super) queue: Queue<Item>,
    leads: watch::Receiver<Lead>,
    since: Mutex<Option<Instant>>,
}

/// An object of Cluster API's core.
pub(super) trait OfCore:
    Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
    + Clone
    + std::fmt::Debug
    + DeserializeOwned
{
}

impl<K> OfCore for K where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
{
}

impl Provision {
    /// Seconds since 1970. If the clock was set, the times of what was seen are moved along first.
    pub(super) fn now(&self) -> i64 {
        let now = clock::now();
        self.steady.look(now, std::time::Instant::now(), |by| {
            warn!("the clock was set by {by} s; no host counts as silent for that time");
            self.inventory.clock_was_set(by);
            self.unready.clock_was_set(by);
            self.by_host.clock_was_set(by);
        });
        now
    }

    /// A provider that knows nothing yet.
    #[must_use]
    pub fn new(
        client: Client,
        world: Arc<World>,
        policy: Policy,
        leads: watch::Receiver<Lead>,
    ) -> Self {
        Self {
            client,
            world,
            inventory: Inventory::default(),
            unready: Unready::default(),
            by_host: ByHost::default(),
            spans: Spans::default(),
            starts: Starts::default(),
            taken: Taken::default(),
            steady: Steady::default(),
            approving: tokio::sync::Mutex::default(),
            policy,
            queue: Queue::default(),
            leads,
            since: Mutex::default(),
        }
    }

    /// Reads an object from the API server, not from a cache. Nothing, if there is none.
    pub(super) async fn read<K>(&self, space: &str, name: &str) -> Result<Option<K>, WriteError>
    where
        K: write::Object,
    {
        write::read(&Api::namespaced(self.client.clone(), space), name).await
    }

    /// Reads an object of Cluster API's core, if its name is known.
    pub(super) async fn read_core<K>(
        &self,
        space: &str,
        kind: &str,
        name: Option<String>,
    ) -> Result<Option<K>, WriteError>
    where
        K: OfCore,
    {
        match name {
            Some(name) => write::read(&self.core(space, kind), &name).await,
            None => Ok(None),
        }
    }

    pub(super) fn core<K: OfCore>(&self, space: &str, kind: &str) -> Api<K> {
        Api::namespaced_with(self.client.clone(), space, &crate::api::core(kind))
    }

    /// For how many seconds this process leads with all lists complete.
    pub(super) fn leads_for(&self) -> i64 {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(0, |since| {
            i64::try_from(since.elapsed().as_secs()).unwrap_or(i64::MAX)
        })
    }

    pub(super) fn is_ready(&self) -> bool {
        let ready = self.leads.borrow().holds() && self.inventory.synced() && self.world.synced();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        match (ready, *since) {
            (true, None) => *since = Some(Instant::now()),
            (false, _) => *since = None,
            (true, Some(_)) => {}
        }
        ready
    }

    /// Works for ever.
    pub async fn work(self: Arc<Self>) {
        let places = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        loop {
            let item = self.queue.next().await;
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let this = Arc::clone(&self);
            tokio::spawn(async move {
                let look = AssertUnwindSafe(Box::pin(this.turn_to(&item)))
                    .catch_unwind()
                    .await;
                if look.is_err() {
                    this.world.metrics.failed("panic");
                    let pause = this.queue.failed(&item);
                    error!("careen-provider panicked over {item:?}; retrying in {pause:?}");
                }
                drop(place);
            });
        }
    }

    async fn turn_to(&self, item: &Item) {
        self.now();
        if !self.is_ready() {
            // A process that does not lead looks again when it does.
            self.queue.done(item);
            if self.leads.borrow().holds() {
                self.queue.add_after(item.clone(), UNSYNCED);
            }
            return;
        }
        let looked = match item {
            Item::Machine(key) => self.look_at_machine(key).await,
            Item::Host(key) => self.look_at_host(key).await,
            Item::Cluster(key) => self.look_at_cluster(key).await,
            Item::Registration(key) => self.look_at_registration(key).await,
            Item::Template(key) => self.look_at_template(key).await,
            Item::Pool(key) => self.look_at_pool(key).await,
        };
        match looked {
            Ok(again) => {
                self.queue.done(item);
                if let Some(seconds) = again {
                    self.queue
                        .add_after(item.clone(), Duration::from_secs(seconds));
                }
            }
            Err(failure) => {
                self.world.metrics.failed(failure.class());
                let pause = self.queue.failed(item);
                match failure {
                    WriteError::Refused(_) => warn!("{item:?}: {failure}; retrying in {pause:?}"),
                    WriteError::Conflict
                    | WriteError::Missing
                    | WriteError::Away(_)
                    | WriteError::Follows => {
                        debug!("{item:?}: {failure}; retrying in {pause:?}");
                    }
                }
            }
        }
    }

    /// A host is new, or has changed, or is gone.
    pub(super) fn host_changed(&self, key: Key, host: &Host) {
        let space = Arc::clone(&key.namespace);
        let done = self.spans.host(&key, host, std::time::Instant::now());
        if let Some((what, time)) = done.filter(|_| self.leads.borrow().holds()) {
            self.world.metrics.operations().took(what, time);
        }
        if let Some(claim) = &host.claim {
            let machine = Key::new(Arc::clone(&space), claim.machine.as_str());
            let pool = self.inventory.pool_of(&machine);
            pool.into_iter()
                .for_each(|pool| self.queue.add(Item::Pool(pool)));
            self.queue.add(Item::Machine(machine));
        }
        let is_free = host.claim.is_none() && host.phase == Phase::Available;
        let joined = host.claim.is_none() && host.observed.is_some();
        let wakes = |of: &Key, known: &Known| {
            let names_it = known
                .host
                .as_ref()
                .is_some_and(|(name, _)| *name == host.name);
            let waits = known.host.is_none() && is_free;
            of.namespace == space && (waits || joined && names_it)
        };
        self.queue_each(self.inventory.which(wakes), Item::Machine);
        self.queue.add(Item::Host(key));
        let registration = Key::new(Arc::clone(&space), host.registration.as_str());
        let templates = self.inventory.all_of(Named::Template, &space);
        let clusters = self.inventory.all_of(Named::Cluster, &space);
        [Item::Registration(registration)]
            .into_iter()
            .chain(templates.into_iter().map(Item::Template))
            .chain(clusters.into_iter().map(Item::Cluster))
            .for_each(|item| self.queue.add_after(item, COUNTS));
    }

    /// A Machine or a Cluster of Cluster API's core has changed.
    pub fn core_changed(&self, kind: &str, meta: &ObjectMeta) {
        let name = meta.name.as_deref().unwrap_or_default();
        let space = meta.namespace.as_deref().unwrap_or_default();
        let of_it = |key: &Key, known: &Known| {
            let related = match kind {
                "Machine" => &known.owner,
                "Cluster" => &known.cluster,
                _ => return false,
            };
            *key.namespace == *space && related.as_deref() == Some(name)
        };
        self.queue_each(self.inventory.which(of_it), Item::Machine);
        let of_a_pool = |meta: &ObjectMeta| {
            let labels = meta.labels.as_ref();
            labels.is_some_and(|labels| labels.contains_key(names::POOL_LABEL))
        };
        if kind == "Cluster" || of_a_pool(meta) {
            self.queue_each(self.inventory.all_of(Named::Pool, space), Item::Pool);
        }
        if kind == "Cluster" {
            self.queue_each(self.inventory.all_of(Named::Cluster, space), Item::Cluster);
        }
    }

    /// A MachinePool has changed: its version and its bootstrap data are those of its machines.
    pub(super) fn pool_changed(&self, pool: &wire::MachinePool) {
        let space = pool.metadata.namespace.as_deref().unwrap_or_default();
        self.queue_each(self.inventory.all_of(Named::Pool, space), Item::Pool);
        let of_a_pool = |key: &Key, known: &Known| *key.namespace == *space && known.pool.is_some();
        self.queue_each(self.inventory.which(of_a_pool), Item::Machine);
    }

    /// Queues everything, each time this process becomes the leader: the last one may have died
    /// between two writes.
    pub async fn look_at_all(self: Arc<Self>) {
        let mut leads = self.leads.clone();
        loop {
            let holds = leads.borrow_and_update().holds();
            // Its machines and pools are another replica's from now on.
            self.spans.leave();
            self.world.metrics.pools().clear();
            if holds {
                self.taken.forget();
                self.queue_all();
            }
            if leads.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn queue_all(&self) {
        let all = &self.inventory;
        self.queue_each(all.all_hosts(), Item::Host);
        self.queue_each(all.which(|_, _| true), Item::Machine);
        self.queue_each(all.all(Named::Cluster), Item::Cluster);
        self.queue_each(all.all(Named::Registration), Item::Registration);
        self.queue_each(all.all(Named::Template), Item::Template);
        self.queue_each(all.all(Named::Pool), Item::Pool);
    }

    pub(super) fn queue_each(&self, keys: Vec<Key>, item: fn(Key) -> Item) {
        keys.into_iter().for_each(|key| self.queue.add(item(key)));
    }
}
