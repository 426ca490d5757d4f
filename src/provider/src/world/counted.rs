//! Which ends of requests are counted already. A Machine whose request has ended is marked once more where its node is not well for a
//! moment, and where it is asked the same again; that mark comes off too.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use requests::NodeFacts;

use super::World;
use crate::engine::Machine;
use crate::machines::Key;

/// The end that was counted last of each Machine: the id, and when it ended by its node's clock. Lost when we restart.
#[derive(Default)]
pub(super) struct Counted(Mutex<HashMap<Key, (String, u64)>>);

impl Counted {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, (String, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this end was not counted before; it is from now on.
    fn is_new(&self, key: Key, id: &str, at: u64) -> bool {
        let end = (id.to_owned(), at);
        self.all().insert(key, end.clone()) != Some(end)
    }

    pub(super) fn forget(&self, key: &Key) {
        self.all().remove(key);
    }
}

impl World {
    /// Counts how the request ended that a Machine was marked for, and what that took, where the Node says so of this very request.
    pub fn ended(&self, machine: &Machine, node: Option<&NodeFacts>) {
        let marked = machine.mark.as_ref().map(|mark| mark.id.as_str());
        let node = node.filter(|node| marked.is_some() && node.reply.id() == marked);
        let Some((id, ended)) = marked.zip(node.and_then(|node| node.ended.as_deref())) else {
            return;
        };
        if self.counted.is_new(machine.key(), id, ended.at) {
            self.metrics.ended(ended);
        }
    }
}
