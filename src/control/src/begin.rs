//! What each verb begins with.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::runtime::Runtime;

/// Runs one verb.
pub fn runtime() -> Result<Runtime, String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    runtime.map_err(|error| {
        format!("careen-control cannot begin: {error}. Look at the limits of this process.")
    })
}

/// Seconds since 1970. A clock before that counts as 1970, where no certificate is valid.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
