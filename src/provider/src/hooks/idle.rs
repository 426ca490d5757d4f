//! Detects idle connections. A client that finishes its handshake and then sends nothing still
//! occupies a connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The calls of one connection.
pub(super) struct Calls(Mutex<State>);

struct State {
    under_way: usize,
    any: bool,
    quiet_since: Instant,
}

impl Default for Calls {
    fn default() -> Self {
        Self(Mutex::new(State {
            under_way: 0,
            any: false,
            quiet_since: Instant::now(),
        }))
    }
}

/// A call in progress, until it is dropped.
pub(super) struct Call(Arc<Calls>);

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.under_way = state.under_way.saturating_sub(1);
        state.quiet_since = Instant::now();
    }
}

impl Calls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(self: &Arc<Self>) -> Call {
        let mut state = self.state();
        (state.under_way, state.any) = (state.under_way + 1, true);
        Call(Arc::clone(self))
    }

    /// Waits until no call has come for this long: before the first call, or after a later one.
    pub(super) async fn until_idle(&self, first: Duration, later: Duration) {
        loop {
            let end = {
                let state = self.state();
                let limit = if state.any { later } else { first };
                match state.under_way {
                    0 => state.quiet_since + limit,
                    _ => Instant::now() + limit,
                }
            };
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(50);
    const LATER: Duration = Duration::from_millis(200);

    async fn ends_within(calls: &Arc<Calls>, limit: Duration) -> bool {
        let idle = calls.until_idle(FIRST, LATER);
        tokio::time::timeout(limit, idle).await.is_ok()
    }

    #[tokio::test]
    async fn connection_gets_more_idle_time_after_its_first_call() {
        let calls = Arc::new(Calls::default());
        assert!(ends_within(&calls, Duration::from_secs(10)).await);
        drop(calls.begin());
        assert!(!ends_within(&calls, FIRST).await);
        assert!(ends_within(&calls, Duration::from_secs(10)).await);
    }

    #[tokio::test]
    async fn who_waits_for_an_answer_is_not_idle() {
        let calls = Arc::new(Calls::default());
        let call = calls.begin();
        assert!(!ends_within(&calls, LATER * 3).await);
        drop(call);
        assert!(ends_within(&calls, Duration::from_secs(10)).await);
    }
}
