//! When InfraMachines say that their node's upgrade is done, as one standing watch shows it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use provider::names;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

type Waiting = Mutex<HashMap<String, oneshot::Sender<Instant>>>;

/// The watch, until it is dropped.
pub struct Conditions {
    waiting: Arc<Waiting>,
    watch: JoinHandle<()>,
}

impl Drop for Conditions {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl Conditions {
    /// Begins to watch.
    pub fn watch(infra: Api<DynamicObject>) -> Self {
        let waiting = Arc::new(Waiting::default());
        let watch = tokio::spawn(note(infra, Arc::clone(&waiting)));
        Self { waiting, watch }
    }

    /// Hears once of this one, from now on.
    pub fn expect(&self, name: &str) -> oneshot::Receiver<Instant> {
        let (tell, hear) = oneshot::channel();
        lock(&self.waiting).insert(name.to_owned(), tell);
        hear
    }
}

async fn note(infra: Api<DynamicObject>, waiting: Arc<Waiting>) {
    let seen = watcher(infra, watcher::Config::default()).applied_objects();
    let mut seen = std::pin::pin!(seen);
    while let Some(object) = seen.next().await {
        // An error is the watch being made anew.
        let Ok(object) = object else { continue };
        if !says_done(&object) {
            continue;
        }
        if let Some(tell) = lock(&waiting).remove(&object.name_any()) {
            // Whoever waited may have given up.
            let _ = tell.send(Instant::now());
        }
    }
}

fn says_done(infra: &DynamicObject) -> bool {
    let conditions = infra.data.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    conditions.any(|one| one["type"] == names::CONDITION && one["status"] == "True")
}

fn lock(waiting: &Waiting) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Instant>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
