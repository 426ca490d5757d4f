//! Which hosts have no token where they would look for one.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::machines::Key;

/// The hosts whose Secret was seen to be away while this process leads. Only the leader makes one,
/// so that the Secret of a host that is heard is not read at each look.
#[derive(Default)]
pub struct Taken(Mutex<HashSet<Key>>);

impl Taken {
    /// Reads or changes the set.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut HashSet<Key>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets all: another leader may have made some.
    pub fn forget(&self) {
        self.with(HashSet::clear);
    }
}
