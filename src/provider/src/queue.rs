//! A work queue of keys. Each key waits at most once, is never processed twice at a time, and can
//! be scheduled for later. A key has at most one alarm, the earliest that was requested. Every run
//! may request one, and they must not accumulate.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The pause after this many failures.
fn pause_after(count: u32) -> Duration {
    FIRST
        .saturating_mul(1 << count.saturating_sub(1).min(10))
        .min(LONGEST)
}

/// A queue. Clones share it.
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
    alarms: HashMap<K, Alarm>,
}

/// A scheduled run.
struct Alarm {
    at: Instant,
    task: AbortHandle,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.task.abort();
    }
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
            alarms: HashMap::new(),
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

    /// Queues the key now.
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

    /// Queues the key after a pause, or earlier if an earlier run was scheduled. That run may
    /// schedule another.
    pub fn add_after(&self, key: K, pause: Duration) {
        let at = Instant::now() + pause;
        self.with(|state| {
            if state.alarms.get(&key).is_some_and(|alarm| alarm.at <= at) {
                return;
            }
            let (queue, of) = (self.clone(), key.clone());
            let ring = tokio::spawn(async move {
                tokio::time::sleep_until(at).await;
                queue.ring(of);
            });
            let task = ring.abort_handle();
            state.alarms.insert(key, Alarm { at, task });
        });
    }

    fn ring(&self, key: K) {
        let due = self.with(|state| {
            let now = Instant::now();
            let due = state.alarms.get(&key).is_some_and(|alarm| alarm.at <= now);
            due.then(|| state.alarms.remove(&key)).is_some()
        });
        if due {
            self.add(key);
        }
    }

    /// Removes the key's alarm, because nothing more is expected of it.
    pub fn forget(&self, key: &K) {
        self.with(|state| state.alarms.remove(key));
    }

    /// The next key. The caller returns it with [`Self::done`] or [`Self::failed`].
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
                    // One wake-up may stand for several keys.
                    self.0.wake.notify_one();
                    return key;
                }
                None => self.0.wake.notified().await,
            }
        }
    }

    /// The key was processed.
    pub fn done(&self, key: &K) {
        self.with(|state| state.failures.remove(key));
        self.give_back(key);
    }

    /// The key could not be processed. It is queued again after a growing pause. Returns the pause.
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

    /// How many keys wait or are being processed.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.with(|state| state.waiting.len() + state.running.len())
    }

    /// How many keys are scheduled for later.
    #[must_use]
    pub fn later(&self) -> usize {
        self.with(|state| state.alarms.len())
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
        assert_eq!(queue.depth(), 2);
        assert_eq!((queue.next().await, queue.next().await), (1, 2));
    }

    #[tokio::test]
    async fn queue_returns_a_key_changed_in_progress_only_after_done() {
        let queue = Queue::default();
        queue.add(1);
        let key = queue.next().await;
        queue.add(1);
        assert_eq!(queue.depth(), 1, "only the one that is looked at");
        queue.done(&key);
        assert_eq!(queue.next().await, 1);
    }

    #[tokio::test]
    async fn queue_keeps_one_alarm_per_key_and_it_is_the_earliest() {
        let queue = Queue::default();
        for _ in 0..100 {
            queue.add_after(1, Duration::from_secs(7200));
            queue.add_after(1, Duration::from_millis(20));
            queue.add_after(1, Duration::from_secs(15));
        }
        assert_eq!((queue.depth(), queue.later()), (0, 1));
        assert_eq!(queue.next().await, 1);
        assert_eq!(queue.later(), 0);
    }

    #[tokio::test]
    async fn what_is_forgotten_does_not_come_again() {
        let queue = Queue::default();
        queue.add_after(1, Duration::from_secs(7200));
        queue.forget(&1);
        assert_eq!(queue.later(), 0);
    }

    #[test]
    fn after_failures_a_key_comes_again_ever_later_but_comes() {
        let pauses: Vec<Duration> = (1..100).map(pause_after).collect();
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&LONGEST));
    }
}
