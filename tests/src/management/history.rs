//! The history of one object.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use futures::StreamExt;
use kube::Resource;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

/// The values of an object so far. It contains no empty values, and no value twice in a row.
pub struct History {
    words: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for History {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl History {
    /// Watches one existing object.
    ///
    /// # Errors
    /// When the object does not exist.
    pub async fn of<K>(api: Api<K>, name: &str, word: fn(&K) -> String) -> Result<Self>
    where
        K: Resource + Clone + std::fmt::Debug + Send + DeserializeOwned + 'static,
    {
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let mut written = Box::pin(watcher(api, config).applied_objects());
        let first = written.next().await.context("no watch")??;
        let words = Arc::new(Mutex::new(Vec::new()));
        note(&words, word(&first));
        let known = Arc::clone(&words);
        let task = tokio::spawn(async move {
            while let Some(object) = written.next().await {
                if let Ok(object) = object {
                    note(&known, word(&object));
                }
            }
        });
        Ok(Self { words, task })
    }

    /// The values so far.
    #[must_use]
    pub fn so_far(&self) -> Vec<String> {
        self.words
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn note(words: &Mutex<Vec<String>>, word: String) {
    let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
    if !word.is_empty() && words.last() != Some(&word) {
        words.push(word);
    }
}
