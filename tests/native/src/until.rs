//! Waits for what takes its time.

use std::time::{Duration, Instant};

/// Long, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(600);

const PAUSE: Duration = Duration::from_millis(100);

/// Waits until `look` says yes.
pub async fn until(what: &str, look: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !look().await {
        assert!(
            begun.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        tokio::time::sleep(PAUSE).await;
    }
}
