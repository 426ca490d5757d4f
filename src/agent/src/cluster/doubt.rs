//! A refusal that may pass. A server that has just started may not have its rights yet, a proxy or
//! a webhook may fail once, and the Node authorizer may not know a new object. So one 403 or 404
//! does not end an upgrade or switch off a check.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::ApiError;

/// For how long a refusal is doubted before the node is taken from its users.
pub const BEFORE_THE_CORDON: Duration = Duration::from_secs(30);

/// The same while a person waits for the answer, or the node is about to be taken.
pub const SHORT: Duration = Duration::from_secs(5);

/// Pause before the server is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// What the server says. A refusal counts once the server has said nothing else for this long.
///
/// # Errors
/// The refusal, or what `ask` says of a server that does not answer, at once.
pub async fn lasting<T, F>(limit: Duration, ask: impl Fn() -> F) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let begun = Instant::now();
    loop {
        match ask().await {
            Err(error) if error.is_refusal() && begun.elapsed() < limit => sleep(AGAIN).await,
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::ready;

    #[tokio::test(start_paused = true)]
    async fn one_refusal_is_doubted_and_a_lasting_one_believed() {
        for refusal in [
            || ApiError::Missing,
            || ApiError::Refused("403".to_owned()),
            || ApiError::Unfit("422".to_owned()),
        ] {
            let first = Cell::new(true);
            let once = || {
                ready(if first.replace(false) {
                    Err(refusal())
                } else {
                    Ok(7)
                })
            };
            assert_eq!(lasting(SHORT, once).await.unwrap(), 7);
            let begun = Instant::now();
            let error = lasting::<(), _>(SHORT, || ready(Err(refusal()))).await;
            assert!(error.unwrap_err().is_refusal());
            assert_eq!(begun.elapsed(), SHORT);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn absent_server_is_the_callers_matter() {
        let begun = Instant::now();
        let away = || ready(Err::<(), _>(ApiError::Away("no route".to_owned())));
        assert!(lasting(SHORT, away).await.is_err());
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
