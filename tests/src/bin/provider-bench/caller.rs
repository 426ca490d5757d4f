//! Who calls UpdateMachine, in the manner of Cluster API's core: one call for each Machine at a time, the next one after the seconds that
//! the answer names, no more at once than core has workers. What core writes to a Machine that is done is left out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::calls;
use crate::hooks::Hooks;

/// Core's `--machine-concurrency`: with its default of 100, two cores that carry the API servers too are busy with nothing else.
const WORKERS: usize = 10;

/// Core's first pause after a call that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// What was called.
#[derive(Default)]
pub struct Called {
    /// Milliseconds of each call that was answered.
    pub times: Vec<f64>,
    /// Why others were not.
    pub failures: Vec<String>,
}

/// The caller. Dropping it ends all calls.
pub struct Caller {
    shared: Arc<Shared>,
    machines: JoinSet<()>,
}

struct Shared {
    hooks: Arc<Hooks>,
    workers: Semaphore,
    called: Mutex<Called>,
}

impl Caller {
    /// Calls for no Machine yet.
    pub fn new(hooks: Arc<Hooks>) -> Self {
        let shared = Shared {
            hooks,
            workers: Semaphore::new(WORKERS),
            called: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            machines: JoinSet::new(),
        }
    }

    /// Calls for this one from now on, until it is done.
    pub fn begin(&mut self, number: usize) {
        let shared = Arc::clone(&self.shared);
        self.machines.spawn(shared.pursue(number));
    }

    /// What was called since this was asked last.
    pub fn take(&self) -> Called {
        std::mem::take(&mut *self.shared.called())
    }
}

impl Shared {
    async fn pursue(self: Arc<Self>, number: usize) {
        loop {
            match self.call(number).await {
                Ok(0) => return,
                Ok(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                Err(error) => {
                    self.called().failures.push(format!("{error:#}"));
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    async fn call(&self, number: usize) -> Result<u64> {
        let _worker = self.workers.acquire().await?;
        let (seconds, took) = self.hooks.update(&calls::update(number)).await?;
        self.called().times.push(took);
        Ok(seconds)
    }

    fn called(&self) -> MutexGuard<'_, Called> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
