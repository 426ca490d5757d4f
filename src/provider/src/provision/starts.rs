//! How many machines a pool that grows makes in its next step: 1, 2, 4, and so on while the API
//! server takes them, and 1 again after a refusal. So a quota or a policy that refuses them is asked
//! for one machine at a time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::machines::Key;

/// The next step of each pool that grows.
#[derive(Default)]
pub struct Starts(Mutex<HashMap<Key, usize>>);

impl Starts {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many machines may be made now.
    pub fn batch(&self, pool: &Key) -> usize {
        self.all().get(pool).copied().unwrap_or(1)
    }

    /// A step has succeeded or not.
    pub fn after(&self, pool: &Key, succeeded: bool) {
        let batch = self.batch(pool);
        match succeeded {
            true => self.all().insert(pool.clone(), batch.saturating_mul(2)),
            false => self.all().remove(pool),
        };
    }

    /// The pool does not grow any more, or is gone.
    pub fn rest(&self, pool: &Key) {
        self.all().remove(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_double_until_one_is_refused() {
        let (starts, pool) = (Starts::default(), Key::new("ns", "workers"));
        let mut steps = Vec::new();
        for succeeded in [true, true, true, false, true] {
            steps.push(starts.batch(&pool));
            starts.after(&pool, succeeded);
        }
        assert_eq!(steps, [1, 2, 4, 8, 1]);
        assert_eq!(starts.batch(&pool), 2);
        assert_eq!(starts.batch(&Key::new("ns", "others")), 1);
        starts.rest(&pool);
        assert_eq!(starts.batch(&pool), 1);
    }
}
