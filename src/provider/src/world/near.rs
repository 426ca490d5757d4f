//! What was told of keys on Cluster API's objects that resemble Careen's: each value once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// The most objects that are remembered. Beyond that the memory starts over, and a key may be told
/// twice; an Event has the same name again.
const MOST: usize = 10_000;

/// What was told of each object, by its UID. A restart loses it.
#[derive(Default)]
pub(super) struct Near(Mutex<HashMap<String, HashSet<String>>>);

impl Near {
    /// What was not told of the object before. What is no longer there is forgotten.
    pub(super) fn news(&self, uid: &str, told: Vec<String>) -> Vec<String> {
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
