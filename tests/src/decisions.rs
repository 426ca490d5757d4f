//! Every decision of a rollout with its reason: core's decisions on a Machine, careen-provider's on
//! Machine, Node and InfraMachine, and the agent's on its Node. The text is the same at every run
//! of a rollout that upgrades one Machine at a time. The tests compare it with a file in the tree;
//! `CAREEN_BLESS=1` rewrites that file.
//!
//! Machine names are random, so the text numbers Machines in the order in which core takes them.
//! The order between parties that do not wait for each other differs at each run, so each party has
//! its own lines.

mod golden;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use kube::api::{DynamicObject, ListParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use testkit::cluster_api::objects;
use tokio::task::JoinHandle;

use crate::machines::Machine;
use words::{DEV_MACHINE, Kind, MACHINE, NODE, RIG_MACHINE, Who};

/// The poll interval for Nodes that the test cannot watch. The poll may miss a state that exists
/// for a shorter time.
const LOOK: Duration = Duration::from_millis(100);

/// The log. It records until it is dropped.
pub struct Decisions {
    log: Arc<Mutex<Log>>,
    watches: Vec<JoinHandle<()>>,
}

impl Drop for Decisions {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

/// All decisions so far.
#[derive(Default)]
struct Log {
    of: HashSet<String>,
    last: HashMap<(Who, &'static str, String), String>,
    lines: Vec<Line>,
    /// Two API servers count their writes separately. In that case the order is the order of
    /// observation.
    as_seen: bool,
}

/// One decision.
#[derive(Clone)]
struct Line {
    /// The revision that orders all writes to an API server, of all kinds.
    revision: u64,
    machine: String,
    who: Who,
    text: String,
}

impl Decisions {
    /// Watches these Machines of a Cluster, with their InfraMachines and Nodes, which have the same
    /// names. Their state at the start is not a decision of the rollout.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn watch(client: &Client, cluster: &str, machines: &[Machine]) -> Result<Self> {
        let mut this = Self::of(machines, false);
        for kind in [&MACHINE, &RIG_MACHINE, &NODE] {
            this.watch_kind(client, cluster, kind).await?;
        }
        Ok(this)
    }

    /// Does the same for Machines of the in-memory provider: their Nodes are on their own API
    /// server, see [`crate::in_memory`].
    ///
    /// # Errors
    /// When an API server does not answer.
    pub async fn watch_in_memory(
        (client, workload): (&Client, &Client),
        cluster: &str,
        machines: &[Machine],
    ) -> Result<Self> {
        let mut this = Self::of(machines, true);
        for kind in [&MACHINE, &DEV_MACHINE] {
            this.watch_kind(client, cluster, kind).await?;
        }
        this.look_at_nodes(workload).await?;
        Ok(this)
    }

    fn of(machines: &[Machine], as_seen: bool) -> Self {
        let log = Log {
            of: machines.iter().map(Machine::name).collect(),
            as_seen,
            ..Log::default()
        };
        Self {
            log: Arc::new(Mutex::new(log)),
            watches: Vec::new(),
        }
    }

    async fn look_at_nodes(&mut self, workload: &Client) -> Result<()> {
        let nodes = objects::api(workload, &objects::kind(NODE.version, NODE.name)?, None);
        let (log, mut tell) = (Arc::clone(&self.log), false);
        self.watches.push(tokio::spawn(async move {
            loop {
                // The next poll retries a request that failed.
                if let Ok(all) = nodes.list(&ListParams::default()).await {
                    let mut log = lock(&log);
                    all.iter().for_each(|node| log.see(&NODE, node, tell));
                    tell = true;
                }
                tokio::time::sleep(LOOK).await;
            }
        }));
        Ok(())
    }

    async fn watch_kind(
        &mut self,
        client: &Client,
        cluster: &str,
        kind: &'static Kind,
    ) -> Result<()> {
        let space = kind.in_namespace.then_some(cluster);
        let api = objects::api(client, &objects::kind(kind.version, kind.name)?, space);
        for object in api.list(&ListParams::default()).await?.items {
            lock(&self.log).see(kind, &object, false);
        }
        let log = Arc::clone(&self.log);
        self.watches.push(tokio::spawn(async move {
            let written = watcher(api, watcher::Config::default()).default_backoff();
            let mut written = std::pin::pin!(written.applied_objects());
            while let Some(object) = written.next().await {
                // An error means that the watch restarts.
                if let Ok(object) = object {
                    lock(&log).see(kind, &object, true);
                }
            }
        }));
        Ok(())
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// Records what an object says now and did not say before.
    fn see(&mut self, kind: &Kind, object: &DynamicObject, tell: bool) {
        let machine = object.name_any();
        if !self.of.contains(&machine) {
            return;
        }
        let revision = object.resource_version().unwrap_or_default();
        for (who, text) in (kind.says)(object) {
            let place = (who, kind.name, machine.clone());
            if text.is_empty() || self.last.get(&place) == Some(&text) {
                continue;
            }
            self.last.insert(place, text.clone());
            if tell {
                let seen = self.lines.len() as u64;
                let written = revision.parse().unwrap_or_default();
                self.lines.push(Line {
                    revision: if self.as_seen { seen } else { written },
                    machine: machine.clone(),
                    who,
                    text,
                });
            }
        }
    }
}
