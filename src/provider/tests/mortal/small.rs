//! The objects of a small API server: versions, preconditions, watches. One server is both the
//! management and the workload cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::scene::NEW;

/// What somebody else does right after the next write of a Machine.
type Meddle = Box<dyn FnOnce(&Small) + Send>;

/// The server's objects, by plural and name: no name occurs in two namespaces here.
pub struct Small {
    state: Mutex<State>,
    version: watch::Sender<u64>,
    dead: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<(String, String), Value>,
    log: Vec<Logged>,
    writes: usize,
    dies_at: Option<usize>,
    meddle: Option<Meddle>,
    taken: Vec<String>,
    lag: Duration,
    watched: BTreeSet<String>,
    release: Option<String>,
    asked_for_release: usize,
}

struct Logged {
    version: u64,
    plural: String,
    line: String,
}

/// Why a write was rejected, as an HTTP status.
pub enum Refused {
    Missing,
    Conflict,
}

impl Default for Small {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            version: watch::Sender::new(1),
            dead: watch::Sender::new(false),
        }
    }
}

impl Small {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an object, and replaces any object of the same name.
    pub fn put(&self, plural: &str, mut object: Value) {
        let mut state = self.state();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let version = *self.version.borrow() + 1;
        object["metadata"]["uid"] = json!(format!("uid-{version}"));
        self.keep(&mut state, plural, &name, object);
    }

    fn keep(&self, state: &mut State, plural: &str, name: &str, mut object: Value) {
        let version = *self.version.borrow() + 1;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let place = (plural.to_owned(), name.to_owned());
        let old = state.objects.insert(place, object.clone());
        let kind = if old.is_some() { "MODIFIED" } else { "ADDED" };
        self.log(state, version, plural, kind, &object);
    }

    fn log(&self, state: &mut State, version: u64, plural: &str, kind: &str, object: &Value) {
        state.log.push(Logged {
            version,
            plural: plural.to_owned(),
            line: format!("{}\n", json!({ "type": kind, "object": object })),
        });
        self.version.send_replace(version);
    }

    /// A write by somebody other than the provider.
    pub fn change(&self, plural: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        let place = (plural.to_owned(), name.to_owned());
        let mut object = state.objects[&place].clone();
        change(&mut object);
        self.keep(&mut state, plural, name, object);
    }

    /// Replaces an object if it is unchanged since it was read, or creates it.
    pub fn replace(&self, plural: &str, object: Value) -> Result<Value, Refused> {
        let mut state = self.state();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let place = (plural.to_owned(), name.clone());
        let read = &object["metadata"]["resourceVersion"];
        let known = state.objects.get(&place);
        let known = known.map_or(&Value::Null, |known| &known["metadata"]["resourceVersion"]);
        if read != known {
            return Err(Refused::Conflict);
        }
        self.keep(&mut state, plural, &name, object);
        Ok(state.objects[&place].clone())
    }

    pub fn remove(&self, plural: &str, name: &str) {
        let mut state = self.state();
        let place = (plural.to_owned(), name.to_owned());
        let object = state.objects.remove(&place).unwrap();
        let version = *self.version.borrow() + 1;
        self.log(&mut state, version, plural, "DELETED", &object);
    }

    pub fn get(&self, plural: &str, name: &str) -> Option<Value> {
        let place = (plural.to_owned(), name.to_owned());
        self.state().objects.get(&place).cloned()
    }

    /// All objects of a kind, and the resource version of the list.
    pub fn list(&self, plural: &str) -> Value {
        let state = self.state();
        let of_kind = state.objects.iter().filter(|((kind, _), _)| kind == plural);
        let items: Vec<Value> = of_kind.map(|(_, object)| object.clone()).collect();
        let version = self.version.borrow().to_string();
        json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": version }, "items": items })
    }

    /// Waits for the next event of a kind after a version.
    pub async fn next(&self, plural: &str, behind: u64) -> (u64, String) {
        let mut versions = self.version.subscribe();
        loop {
            versions.borrow_and_update();
            let found = {
                let state = self.state();
                let mut of_kind = state.log.iter().filter(|logged| logged.plural == plural);
                let next = of_kind.find(|logged| logged.version > behind);
                next.map(|logged| (logged.version, logged.line.clone()))
            };
            if let Some(found) = found {
                return found;
            }
            versions.changed().await.unwrap();
        }
    }

    /// Waits for the next change of anything.
    pub async fn changed(&self) {
        let mut versions = self.version.subscribe();
        // A pause loses nothing: every waiting task looks at everything again.
        let _ = tokio::time::timeout(Duration::from_millis(20), versions.changed()).await;
    }

    /// A merge patch, with the preconditions that it contains.
    pub fn patch(
        &self,
        plural: &str,
        name: &str,
        status: bool,
        mut patch: Value,
    ) -> Result<Value, Refused> {
        let mut state = self.state();
        let place = (plural.to_owned(), name.to_owned());
        let mut object = state.objects.get(&place).cloned().ok_or(Refused::Missing)?;
        for field in ["uid", "resourceVersion"] {
            let wanted = patch["metadata"][field].take();
            if !wanted.is_null() && wanted != object["metadata"][field] {
                return Err(Refused::Conflict);
            }
            if let Some(metadata) = patch["metadata"].as_object_mut() {
                metadata.remove(field);
            }
        }
        if status {
            patch = json!({ "status": patch["status"].take() });
        }
        let before = object.clone();
        json_patch::merge(&mut object, &patch);
        // A write without a change makes no new version.
        if object != before {
            self.keep(&mut state, plural, name, object);
        }
        Ok(state.objects[&place].clone())
    }

    /// Kills the provider after this write, counted from one. Later writes are not accepted.
    pub fn dies_at(&self, write: usize) {
        let mut state = self.state();
        (state.writes, state.dies_at) = (0, Some(write));
    }

    /// A successor may write, and survives.
    pub fn lives_on(&self) {
        self.state().dies_at = None;
        self.dead.send_replace(false);
    }

    pub fn is_dead(&self) -> bool {
        *self.dead.borrow()
    }

    pub async fn until_dead(&self) {
        self.dead.subscribe().wait_for(|dead| *dead).await.unwrap();
    }

    /// Counts a write of the provider. Returns whether the provider dies of it.
    pub fn count(&self) -> bool {
        let mut state = self.state();
        state.writes += 1;
        let dies = state.dies_at == Some(state.writes);
        if dies {
            self.dead.send_replace(true);
        }
        dies
    }

    /// Runs this right after the next write of a Machine.
    pub fn meddle(&self, meddle: impl FnOnce(&Self) + Send + 'static) {
        self.state().meddle = Some(Box::new(meddle));
    }

    /// Runs it, if it is due.
    pub fn meddles(&self) -> bool {
        let meddle = self.state().meddle.take();
        let due = meddle.is_some();
        if let Some(meddle) = meddle {
            meddle(self);
        }
        due
    }

    /// Delays its watches from now on.
    pub fn lags(&self, lag: Duration) {
        self.state().lag = lag;
    }

    /// The delay of its watches.
    pub fn lag(&self) -> Duration {
        self.state().lag
    }

    /// A client has listed all of a kind, and starts to watch it.
    pub fn is_watched_for(&self, plural: &str) {
        self.state().watched.insert(plural.to_owned());
    }

    /// Whether a client has reached that point.
    pub fn is_watched(&self, plural: &str) -> bool {
        self.state().watched.contains(plural)
    }

    /// From now on the server at its address has this version.
    pub fn is_of(&self, release: &str) {
        self.state().release = Some(release.to_owned());
    }

    /// Its version. Counts the request.
    pub fn release(&self) -> String {
        let mut state = self.state();
        state.asked_for_release += 1;
        state.release.clone().unwrap_or_else(|| NEW.to_owned())
    }

    /// How often its version was requested.
    pub fn asked_for_release(&self) -> usize {
        self.state().asked_for_release
    }

    /// An agent has accepted this request.
    pub fn took(&self, id: &str) {
        self.state().taken.push(id.to_owned());
    }

    /// The requests that agents have accepted.
    pub fn taken(&self) -> Vec<String> {
        self.state().taken.clone()
    }
}
