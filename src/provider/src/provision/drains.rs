//! What was last seen of the pods of an orphan's Node.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use infrastructure::{Host, PodsLeft};

use super::evict::Left;
use crate::machines::Key;

/// The last list of pods, by host. A restart forgets it: then the pods are asked once more.
#[derive(Default)]
pub struct Drains(Mutex<HashMap<Key, Round>>);

struct Round {
    claim: Option<String>,
    at: i64,
    left: usize,
    held: Option<String>,
}

/// A claim of the host, or the one that it says it has joined by.
fn claim(host: &Host) -> Option<String> {
    let claim = host.claim.as_ref().map(|claim| claim.id.clone());
    claim.or_else(|| host.observed.clone())
}

impl Drains {
    /// Remembers the pods of a node.
    pub(super) fn put(&self, key: &Key, host: &Host, seen: Left, now: i64) {
        let round = Round {
            claim: claim(host),
            at: now,
            left: seen.left,
            held: seen.held,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key.clone(), round);
    }

    /// The pods of this claim's node, as last listed.
    pub fn last(&self, key: &Key, host: &Host, now: i64) -> Option<PodsLeft> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round = all.get(key).filter(|round| round.claim == claim(host))?;
        Some(PodsLeft {
            ago: now.saturating_sub(round.at),
            left: round.left,
            held: round.held.clone(),
        })
    }

    /// The host is gone.
    pub fn forget(&self, key: &Key) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(key);
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
        let none = Left {
            left: 0,
            held: None,
        };
        drains.put(&key, &joined("a"), none, 100);
        let seen = drains.last(&key, &joined("a"), 107);
        assert_eq!(seen.map(|seen| (seen.ago, seen.left)), Some((7, 0)));
        assert_eq!(drains.last(&key, &joined("b"), 107), None);
        drains.forget(&key);
        assert_eq!(drains.last(&key, &joined("a"), 107), None);
    }
}
