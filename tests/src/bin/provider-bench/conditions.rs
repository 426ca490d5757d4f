//! When a condition of some objects becomes True, as one continuous watch shows it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

type Waiting = Mutex<HashMap<String, oneshot::Sender<Instant>>>;

/// The watch. It runs until it is dropped.
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
    /// Begins to watch one condition of all objects.
    pub fn watch(objects: Api<DynamicObject>, condition: &'static str) -> Self {
        let waiting = Arc::new(Waiting::default());
        let watch = tokio::spawn(note(objects, condition, Arc::clone(&waiting)));
        Self { waiting, watch }
    }

    /// Reports once about this object, from now on.
    pub fn expect(&self, name: &str) -> oneshot::Receiver<Instant> {
        let (tell, hear) = oneshot::channel();
        lock(&self.waiting).insert(name.to_owned(), tell);
        hear
    }
}

async fn note(objects: Api<DynamicObject>, condition: &str, waiting: Arc<Waiting>) {
    let seen = watcher(objects, watcher::Config::default()).applied_objects();
    let mut seen = std::pin::pin!(seen);
    while let Some(object) = seen.next().await {
        // An error means that the watch restarts.
        let Ok(object) = object else { continue };
        if !holds(&object, condition) {
            continue;
        }
        if let Some(tell) = lock(&waiting).remove(&object.name_any()) {
            // The receiver may have given up.
            let _ = tell.send(Instant::now());
        }
    }
}

fn holds(object: &DynamicObject, condition: &str) -> bool {
    let all = object.data.pointer("/status/conditions");
    let mut all = all.and_then(Value::as_array).into_iter().flatten();
    all.any(|one| one["type"] == condition && one["status"] == "True")
}

fn lock(waiting: &Waiting) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Instant>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
