//! Keys that wait to be looked at: each at most once, never two at a time for one key, and again later when asked.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// The pause after so many failures.
fn pause_after(count: u32) -> Duration {
    FIRST
        .saturating_mul(1 << count.saturating_sub(1).min(10))
        .min(LONGEST)
}

/// A queue; clones are the same queue.
pub struct Queue<K>(Arc<Shared<K>>);

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Shared<K> {
    state: Mutex<State<K>>,
    wake: Notify,
}

struct State<K> {
    waiting: VecDeque<K>,
    queued: HashSet<K>,
    running: HashSet<K>,
    again: HashSet<K>,
    failures: HashMap<K, u32>,
}

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(60);

/// The pause after the first failure.
const FIRST: Duration = Duration::from_millis(200);

impl<K> Default for Queue<K> {
    fn default() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            queued: HashSet::new(),
            running: HashSet::new(),
            again: HashSet::new(),
            failures: HashMap::new(),
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            wake: Notify::new(),
        }))
    }
}

impl<K: Clone + Debug + Eq + Hash + Send + 'static> Queue<K> {
    fn with<T>(&self, act: impl FnOnce(&mut State<K>) -> T) -> T {
        act(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has it looked at soon.
    pub fn add(&self, key: K) {
        let new = self.with(|state| {
            if state.running.contains(&key) {
                state.again.insert(key);
                return false;
            }
            let new = state.queued.insert(key.clone());
            if new {
                state.waiting.push_back(key);
            }
            new
        });
        if new {
            self.0.wake.notify_one();
        }
    }

    /// Has it looked at after a while.
    pub fn add_after(&self, key: K, pause: Duration) {
        let queue = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            queue.add(key);
        });
    }

    /// The next key. Whoever takes it gives it back with [`Self::done`] or [`Self::failed`].
    pub async fn next(&self) -> K {
        loop {
            let taken = self.with(|state| {
                let key = state.waiting.pop_front()?;
                state.queued.remove(&key);
                state.running.insert(key.clone());
                Some(key)
            });
            match taken {
                Some(key) => {
                    // One wake-up may have stood for several keys.
                    self.0.wake.notify_one();
                    return key;
                }
                None => self.0.wake.notified().await,
            }
        }
    }

    /// It was looked at.
    pub fn done(&self, key: &K) {
        self.with(|state| state.failures.remove(key));
        self.give_back(key);
    }

    /// It could not be looked at; it comes again after a pause that grows. Returns the pause.
    pub fn failed(&self, key: &K) -> Duration {
        let count = self.with(|state| {
            let count = state.failures.entry(key.clone()).or_default();
            *count += 1;
            *count
        });
        self.give_back(key);
        let pause = pause_after(count);
        self.add_after(key.clone(), pause);
        pause
    }

    fn give_back(&self, key: &K) {
        let again = self.with(|state| {
            state.running.remove(key);
            state.again.remove(key)
        });
        if again {
            self.add(key.clone());
        }
    }

    /// How many wait.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.with(|state| state.waiting.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_waits_once_however_often_it_is_added() {
        let queue = Queue::default();
        queue.add(1);
        queue.add(1);
        queue.add(2);
        assert_eq!(
            (queue.next().await, queue.next().await, queue.depth()),
            (1, 2, 0)
        );
    }

    #[tokio::test]
    async fn a_key_is_never_handed_out_twice_at_a_time_and_comes_again_if_it_changed_meanwhile() {
        let queue = Queue::default();
        queue.add(1);
        let key = queue.next().await;
        queue.add(1);
        assert_eq!(queue.depth(), 0);
        queue.done(&key);
        assert_eq!(queue.next().await, 1);
    }

    #[test]
    fn after_failures_a_key_comes_again_ever_later_but_comes() {
        let pauses: Vec<Duration> = (1..100).map(pause_after).collect();
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&LONGEST));
    }
}
