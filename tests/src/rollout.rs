//! A rollout as seen from outside: which Machine began, which serves, which appeared and which
//! disappeared, in order.
//!
//! The lines are the same at every run of a rollout that upgrades one Machine at a time, so tests
//! compare them with a golden text. Machine names are random, so the log numbers Machines in the
//! order in which they first appear in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use futures::StreamExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::machines::{Machine, core};

/// A running log.
pub struct Rollout {
    log: Arc<Mutex<Log>>,
    watch: JoinHandle<()>,
}

impl Drop for Rollout {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

#[derive(Default)]
struct Log {
    lines: Vec<String>,
    machines: BTreeMap<String, Seen>,
    numbered: usize,
    most_updating: usize,
    most_machines: usize,
    gone: usize,
    listed: Option<oneshot::Sender<()>>,
    unlisted: BTreeSet<String>,
}

struct Seen {
    number: Option<usize>,
    state: State,
    here: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Rising,
    Updating,
    Serving,
}

impl Rollout {
    /// Begins to watch. Returns when it knows all existing Machines.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn watch(client: &Client, cluster: &str) -> Result<Self> {
        let api = core(client, "Machine", cluster)?;
        let (listed, known) = oneshot::channel();
        let log = Arc::new(Mutex::new(Log {
            listed: Some(listed),
            ..Log::default()
        }));
        let shared = Arc::clone(&log);
        let watch = tokio::spawn(async move {
            let events = watcher(api, watcher::Config::default()).default_backoff();
            let each = events.for_each(|event| {
                // An error means that the watch restarts. The new list then shows the missed
                // changes.
                if let Ok(event) = event {
                    lock(&shared).see(event);
                }
                std::future::ready(())
            });
            each.await;
        });
        known.await?;
        Ok(Self { log, watch })
    }

    /// The lines so far.
    #[must_use]
    pub fn lines(&self) -> String {
        lock(&self.log).lines.join("\n")
    }

    /// The number of deleted Machines.
    #[must_use]
    pub fn gone(&self) -> usize {
        lock(&self.log).gone
    }

    /// The maximum number of Machines that were updating at the same time.
    #[must_use]
    pub fn most_updating(&self) -> usize {
        lock(&self.log).most_updating
    }

    /// The maximum number of Machines that existed at the same time.
    #[must_use]
    pub fn most_machines(&self) -> usize {
        lock(&self.log).most_machines
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    fn see(&mut self, event: Event<DynamicObject>) {
        match event {
            Event::Init => self.unlisted = self.machines.keys().cloned().collect(),
            Event::InitApply(object) => {
                self.unlisted.remove(&object.name_any());
                // Machines of the first list are not news. Machines of a later list may be.
                let again = self.listed.is_none();
                self.fold(&object, again);
            }
            Event::InitDone => {
                for name in std::mem::take(&mut self.unlisted) {
                    self.leave(&name);
                }
                if let Some(listed) = self.listed.take() {
                    // The receiver may be gone. In that case no task needs the message.
                    let _ = listed.send(());
                }
            }
            Event::Apply(object) => self.fold(&object, true),
            Event::Delete(object) => self.leave(&object.name_any()),
        }
        let here = || self.machines.values().filter(|seen| seen.here);
        let updating = here().filter(|seen| seen.state == State::Updating).count();
        let machines = here().count();
        self.most_updating = self.most_updating.max(updating);
        self.most_machines = self.most_machines.max(machines);
    }

    fn fold(&mut self, object: &DynamicObject, tell: bool) {
        let machine = Machine::from(object.clone());
        let state = state(&machine);
        let known = self.machines.get(&machine.name());
        let (number, before) = known.map_or((None, None), |seen| (seen.number, Some(seen.state)));
        let seen = Seen {
            number,
            state,
            here: true,
        };
        self.machines.insert(machine.name(), seen);
        let what = match state {
            State::Rising if before.is_none() => "comes as",
            State::Updating => "begins",
            State::Serving => "serves",
            State::Rising => return,
        };
        if tell && before != Some(state) {
            self.tell(&machine.name(), &format!("{what} {}", machine.version()));
        }
    }

    fn tell(&mut self, name: &str, what: &str) {
        let Some(seen) = self.machines.get_mut(name) else {
            return;
        };
        let number = *seen.number.get_or_insert_with(|| {
            self.numbered += 1;
            self.numbered
        });
        self.lines.push(format!("{number} {what}"));
    }

    fn leave(&mut self, name: &str) {
        if let Some(seen) = self.machines.get_mut(name).filter(|seen| seen.here) {
            seen.here = false;
            self.gone += 1;
            self.tell(name, "goes");
        }
    }
}

/// Core writes the version of a Machine that moves to another MachineSet a moment after the mark.
/// The update begins only then.
fn state(machine: &Machine) -> State {
    if machine.awaits_update() {
        State::Updating
    } else if machine.serves(machine.version()) {
        State::Serving
    } else {
        State::Rising
    }
}
