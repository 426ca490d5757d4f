//! Remembers which ends of requests are already counted. After the end of a request the Machine is
//! marked again if its node is briefly unhealthy or gets the same request again. That mark is
//! removed too.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::machines::Key;

/// The last counted end of each Machine: the id, and the end time by its node's clock. A restart
/// loses it.
#[derive(Default)]
pub(super) struct Counted(Mutex<HashMap<Key, (String, u64)>>);

impl Counted {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, (String, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records this end. Returns whether it is new.
    pub(super) fn is_new(&self, key: Key, id: &str, at: u64) -> bool {
        let end = (id.to_owned(), at);
        self.all().insert(key, end.clone()) != Some(end)
    }

    pub(super) fn forget(&self, key: &Key) {
        self.all().remove(key);
    }
}
