//! What core said of each Machine in its last call, and for how long that is valid.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::{Instruction, Machine};
use crate::machines::Key;

/// How long a hook's call waits for the watch to show its Machine in progress. The call may be
/// faster than the watch.
const FRESH: Duration = Duration::from_secs(20);

/// What core said of a Machine, when, and whether the watch has since shown it in progress.
#[derive(Clone)]
struct One {
    told: Instruction,
    at: Instant,
    seen: bool,
}

/// What core said. A restart loses it, and core then repeats it.
#[derive(Default)]
pub(super) struct Heard(Mutex<HashMap<Key, One>>);

impl Heard {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, One>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, key: &Key, told: Instruction) {
        let mut all = self.all();
        let seen = all.get(key).is_some_and(|heard| heard.seen);
        let at = Instant::now();
        all.insert(key.clone(), One { told, at, seen });
    }

    /// A Machine whose hook is no longer pending is no longer wanted. A call for another version,
    /// or from long before the hook became pending, referred to something else.
    pub(super) fn saw(&self, machine: &Machine) {
        let (mut all, key) = (self.all(), machine.key());
        let Some(heard) = all.get_mut(&key) else {
            return;
        };
        let early = !heard.seen && heard.at.elapsed() >= FRESH;
        if early || !is_of(&heard.told, machine) || (heard.seen && !machine.is_called_for()) {
            all.remove(&key);
        } else {
            heard.seen = machine.is_called_for();
        }
    }

    pub(super) fn forget(&self, key: &Key) {
        self.all().remove(key);
    }

    /// What core said, while it is valid. Core marks a Machine before it calls, and others may call
    /// too. A watch that lags may show the next update of a Machine without the end of the previous
    /// one. A call for the previous update does not count for this one.
    pub(super) fn of(&self, machine: &Machine) -> Option<Instruction> {
        let heard = self.all().get(&machine.key()).cloned();
        heard
            .map(|heard| heard.told)
            .filter(|told| machine.is_called_for() && is_of(told, machine))
    }

    pub(super) fn lately(&self, key: &Key) -> bool {
        let all = self.all();
        all.get(key).is_some_and(|heard| heard.at.elapsed() < FRESH)
    }
}

/// Whether the call names the Machine's version.
fn is_of(told: &Instruction, machine: &Machine) -> bool {
    machine.version.as_deref() == Some(told.version.as_str())
}
