//! What is remembered of each host, and no API server has. A restart forgets it: then a host has to
//! answer once more before a word about it is old, the pods of an orphan are asked once more, and
//! the volumes of a pod that has left are not waited for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use infrastructure::{Host, Moving, PodsLeft};

use super::drain::round::Round;
use crate::machines::Key;

/// What is remembered of all hosts.
#[derive(Default)]
pub struct ByHost(Mutex<HashMap<Key, Remembered>>);

#[derive(Default)]
struct Remembered {
    /// A person's word, and since when it is seen.
    word: Option<(String, i64)>,
    /// The pods of an orphan's Node.
    pods: Option<Last>,
}

/// A list of pods, of this claim and time.
struct Last {
    claim: Option<String>,
    at: i64,
    round: Round,
}

/// A claim of the host, or the one that it says it has joined by.
fn claim(host: &Host) -> Option<String> {
    let claim = host.claim.as_ref().map(|claim| claim.id.clone());
    claim.or_else(|| host.observed.clone())
}

impl ByHost {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when a person's word about this host is seen.
    pub fn word_since(&self, key: &Key, host: &Host, now: i64) -> Option<i64> {
        let mut all = self.all();
        let Some(id) = &host.forced else {
            if let Some(known) = all.get_mut(key) {
                known.word = None;
            }
            return None;
        };
        let word = &mut all.entry(key.clone()).or_default().word;
        let known = word.take().filter(|(of, _)| of == id);
        let (_, at) = word.insert(known.unwrap_or_else(|| (id.clone(), now)));
        Some(*at)
    }

    /// Remembers the pods of its Node.
    pub(super) fn put_pods(&self, key: &Key, host: &Host, round: Round, now: i64) {
        let last = Last {
            claim: claim(host),
            at: now,
            round,
        };
        self.all().entry(key.clone()).or_default().pods = Some(last);
    }

    /// The pods of this claim's Node, as last listed.
    pub fn pods(&self, key: &Key, host: &Host, now: i64) -> Option<PodsLeft> {
        self.last(key, host, |last| PodsLeft {
            ago: now.saturating_sub(last.at),
            left: last.round.left,
            held: last.round.held.clone(),
        })
    }

    /// The pod of this claim's Node whose turn it is.
    pub fn moving(&self, key: &Key, host: &Host) -> Option<Moving> {
        self.last(key, host, |last| last.round.moving.clone())?
    }

    fn last<T>(&self, key: &Key, host: &Host, look: impl FnOnce(&Last) -> T) -> Option<T> {
        let all = self.all();
        let last = all.get(key)?.pods.as_ref();
        last.filter(|last| last.claim == claim(host)).map(look)
    }

    /// The clock was set by so many seconds.
    pub(super) fn clock_was_set(&self, by: i64) {
        for known in self.all().values_mut() {
            let word = known.word.iter_mut().map(|(_, at)| at);
            let pods = known.pods.iter_mut().map(|last| &mut last.at);
            word.chain(pods).for_each(|at| *at += by);
        }
    }

    /// The host is gone.
    pub fn forget(&self, key: &Key) {
        self.all().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_as_old_as_the_first_look_at_it() {
        let (hosts, key) = (ByHost::default(), Key::new("ns", "h"));
        let said = |id: Option<&str>| Host {
            forced: id.map(str::to_owned),
            ..Host::default()
        };
        assert_eq!(hosts.word_since(&key, &said(None), 1), None);
        assert_eq!(hosts.word_since(&key, &said(Some("a")), 2), Some(2));
        assert_eq!(hosts.word_since(&key, &said(Some("a")), 3), Some(2));
        assert_eq!(hosts.word_since(&key, &said(Some("b")), 4), Some(4));
        assert_eq!(hosts.word_since(&key, &said(None), 5), None);
        assert_eq!(hosts.word_since(&key, &said(Some("b")), 6), Some(6));
        hosts.forget(&key);
        assert_eq!(hosts.word_since(&key, &said(Some("b")), 7), Some(7));
    }

    #[test]
    fn pods_of_an_older_claim_do_not_count() {
        let (hosts, key) = (ByHost::default(), Key::new("ns", "h"));
        let joined = |id: &str| Host {
            observed: Some(id.to_owned()),
            ..Host::default()
        };
        let round = Round {
            moving: Some(Moving::default()),
            ..Round::default()
        };
        hosts.put_pods(&key, &joined("a"), round, 100);
        let seen = hosts.pods(&key, &joined("a"), 107);
        assert_eq!(seen.map(|seen| (seen.ago, seen.left)), Some((7, 0)));
        assert!(hosts.moving(&key, &joined("a")).is_some());
        assert_eq!(hosts.pods(&key, &joined("b"), 107), None);
        assert_eq!(hosts.moving(&key, &joined("b")), None);
        hosts.forget(&key);
        assert_eq!(hosts.pods(&key, &joined("a"), 107), None);
    }
}
