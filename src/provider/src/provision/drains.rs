//! What was last seen of the pods of an orphan's Node.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use infrastructure::{Host, Moving, PodsLeft};

use super::drain::Round;
use crate::machines::Key;

/// The last list of pods, by host. A restart forgets it: then the pods are asked once more, and the
/// volumes of one that has left are not waited for.
#[derive(Default)]
pub struct Drains(Mutex<HashMap<Key, Last>>);

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

impl Drains {
    /// Remembers the pods of a node.
    pub(super) fn put(&self, key: &Key, host: &Host, round: Round, now: i64) {
        let last = Last {
            claim: claim(host),
            at: now,
            round,
        };
        self.all().insert(key.clone(), last);
    }

    /// The pods of this claim's node, as last listed.
    pub fn last(&self, key: &Key, host: &Host, now: i64) -> Option<PodsLeft> {
        let all = self.all();
        let Last { at, round, .. } = all.get(key).filter(|last| last.claim == claim(host))?;
        Some(PodsLeft {
            ago: now.saturating_sub(*at),
            left: round.left,
            held: round.held.clone(),
        })
    }

    /// The pod of this claim's node whose turn it is.
    pub(super) fn moving(&self, key: &Key, host: &Host) -> Option<Moving> {
        let all = self.all();
        let last = all.get(key).filter(|last| last.claim == claim(host))?;
        last.round.moving.clone()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Last>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn pods_of_an_older_claim_do_not_count() {
        let (drains, key) = (Drains::default(), Key::new("ns", "h"));
        let joined = |id: &str| Host {
            observed: Some(id.to_owned()),
            ..Host::default()
        };
        let round = Round {
            moving: Some(Moving::default()),
            ..Round::default()
        };
        drains.put(&key, &joined("a"), round, 100);
        let seen = drains.last(&key, &joined("a"), 107);
        assert_eq!(seen.map(|seen| (seen.ago, seen.left)), Some((7, 0)));
        assert!(drains.moving(&key, &joined("a")).is_some());
        assert_eq!(drains.last(&key, &joined("b"), 107), None);
        assert_eq!(drains.moving(&key, &joined("b")), None);
        drains.forget(&key);
        assert_eq!(drains.last(&key, &joined("a"), 107), None);
    }
}
