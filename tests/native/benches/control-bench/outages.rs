//! When an API server does not answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use tokio::task::JoinHandle;

/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(50);

/// How long it may take for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks a server all the time. Ends when dropped.
pub struct Outages {
    seen: Arc<Mutex<Vec<Outage>>>,
    task: JoinHandle<()>,
}

/// From the first question without an answer until the next answer, which may not have come yet.
#[derive(Debug, Clone, Copy)]
struct Outage {
    from: Instant,
    to: Option<Instant>,
}

impl Outages {
    /// Begins to ask.
    pub fn of(client: Client) -> Self {
        let seen = Arc::default();
        let task = tokio::spawn(ask(client, Arc::clone(&seen)));
        Self { seen, task }
    }

    /// How many seconds of the time between two moments it did not answer.
    pub fn seconds(&self, from: Instant, to: Instant) -> f64 {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let within = seen.iter().map(|outage| {
            let end = outage.to.unwrap_or(to).min(to);
            end.saturating_duration_since(outage.from.max(from))
        });
        within.sum::<Duration>().as_secs_f64()
    }
}

impl Drop for Outages {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn ask(client: Client, seen: Arc<Mutex<Vec<Outage>>>) {
    loop {
        let begun = Instant::now();
        let answer = tokio::time::timeout(PATIENCE, native::is_ready(&client)).await;
        note(&seen, answer.unwrap_or(false), begun);
        tokio::time::sleep(PAUSE).await;
    }
}

fn note(seen: &Mutex<Vec<Outage>>, answers: bool, begun: Instant) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let open = seen.last_mut().filter(|outage| outage.to.is_none());
    match (answers, open) {
        (true, Some(outage)) => outage.to = Some(Instant::now()),
        (false, None) => seen.push(Outage {
            from: begun,
            to: None,
        }),
        (true, None) | (false, Some(_)) => {}
    }
}
