//! Answers keys on Cluster API's objects that resemble Careen's: a log line and an Event on the
//! object, once for each value.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use kube::core::ObjectMeta;

use super::World;
use crate::events::Happened;
use crate::machines::{On, misses};

/// The most objects that are remembered. Beyond that the memory starts over, and a key may be told
/// twice; an Event has the same name again.
const MOST: usize = 10_000;

/// The reason of such an Event, as the agent's Event for a Node has it.
const REASON: &str = "UnknownKeys";

/// What was told of each object, by its UID. A restart loses it.
#[derive(Default)]
pub(super) struct Near(Mutex<HashMap<String, HashSet<String>>>);

impl Near {
    /// What was not told of the object before. What is no longer there is forgotten.
    fn news(&self, uid: &str, told: Vec<String>) -> Vec<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_empty() {
            all.remove(uid);
            return told;
        }
        if all.len() >= MOST {
            all.clear();
        }
        let now = told.iter().cloned().collect();
        let before = all.insert(uid.to_owned(), now).unwrap_or_default();
        let is_new = |one: &String| !before.contains(one);
        told.into_iter().filter(is_new).collect()
    }
}

impl World {
    /// Looks at the keys of an object that a watch or a read has brought.
    pub fn answer_near_misses(&self, meta: &ObjectMeta, api_version: &str, kind: &str, on: On) {
        let uid = meta.uid.as_deref().unwrap_or_default();
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        for note in self.near.news(uid, misses(meta, on)) {
            let (namespace, name) = (text(&meta.namespace), text(&meta.name));
            tracing::warn!("{kind} {namespace}/{name}: {note}");
            self.happened(Happened {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace,
                name,
                uid: uid.to_owned(),
                reason: REASON.to_owned(),
                note,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_miss_is_told_once_for_each_value() {
        let near = Near::default();
        let told = |text: &str| near.news("u", vec![text.to_owned()]).len();
        assert_eq!([told("a"), told("a"), told("b"), told("b")], [1, 0, 1, 0]);
        assert_eq!(near.news("other", vec!["b".to_owned()]).len(), 1);
        assert!(near.news("u", Vec::new()).is_empty());
        assert_eq!(told("b"), 1, "somebody sets it again");
    }
}
