//! The boots of each node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of boots of each node since it joined.
pub(super) type Boots = Arc<Mutex<HashMap<String, u32>>>;

/// Adds one boot of a node, and returns its number.
pub(super) fn boot(boots: &Boots, node: &str) -> u32 {
    let mut boots = lock(boots);
    let count = boots.entry(node.to_owned()).or_default();
    *count += 1;
    *count
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
