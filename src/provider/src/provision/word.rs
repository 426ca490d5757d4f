//! Since when a person's word about a host is seen.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use infrastructure::Host;

use crate::machines::Key;

/// The words, by their hosts, and since when they were seen. A restart forgets them: then a host has
/// to answer once more before its word is old.
#[derive(Default)]
pub struct Words(Mutex<HashMap<Key, (String, i64)>>);

impl Words {
    /// Since when the word of this host is seen.
    pub fn since(&self, key: &Key, host: &Host, now: i64) -> Option<i64> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(id) = &host.forced else {
            all.remove(key);
            return None;
        };
        let known = all.get(key).filter(|(of, _)| of == id).map(|(_, at)| *at);
        let at = known.unwrap_or(now);
        all.insert(key.clone(), (id.clone(), at));
        Some(at)
    }

    /// The clock was set by so many seconds.
    pub(super) fn clock_was_set(&self, by: i64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.values_mut().for_each(|(_, at)| *at += by);
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
    fn word_is_as_old_as_the_first_look_at_it() {
        let (words, key) = (Words::default(), Key::new("ns", "h"));
        let said = |id: Option<&str>| Host {
            forced: id.map(str::to_owned),
            ..Host::default()
        };
        assert_eq!(words.since(&key, &said(None), 1), None);
        assert_eq!(words.since(&key, &said(Some("a")), 2), Some(2));
        assert_eq!(words.since(&key, &said(Some("a")), 3), Some(2));
        assert_eq!(words.since(&key, &said(Some("b")), 4), Some(4));
        assert_eq!(words.since(&key, &said(None), 5), None);
        assert_eq!(words.since(&key, &said(Some("b")), 6), Some(6));
        words.forget(&key);
        assert_eq!(words.since(&key, &said(Some("b")), 7), Some(7));
    }
}
