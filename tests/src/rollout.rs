//! A rollout as it is seen from outside: which Machine began, which serves, which came and which went, in order.
//!
//! The lines are the same at every run of a rollout that goes one by one, so they can be held against a golden text. Machines are
//! numbered as they are first told of, for their names are random.

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

/// A log that is being written.
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
    /// Begins to watch; returns when it knows all that is there.
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
                // An error is the watch being made anew; what is listed then shows what was missed.
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

    /// How many Machines were deleted.
    #[must_use]
    pub fn gone(&self) -> usize {
        lock(&self.log).gone
    }

    /// How many were updated at the same time, at most.
    #[must_use]
    pub fn most_updating(&self) -> usize {
        lock(&self.log).most_updating
    }

    /// How many Machines there were at the same time, at most.
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
                // What is there at the beginning is no news; what is listed later may be.
                let again = self.listed.is_none();
                self.fold(&object, again);
            }
            Event::InitDone => {
                for name in std::mem::take(&mut self.unlisted) {
                    self.leave(&name);
                }
                if let Some(listed) = self.listed.take() {
                    // Whoever waited may have gone; then nobody needs to know.
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

/// The version of a Machine that is handed to another MachineSet is written a moment after the mark, and only then it begins.
fn state(machine: &Machine) -> State {
    if machine.awaits_update() {
        State::Updating
    } else if machine.serves(machine.version()) {
        State::Serving
    } else {
        State::Rising
    }
}
