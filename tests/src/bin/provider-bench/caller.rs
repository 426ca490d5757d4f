//! Calls UpdateMachine as Cluster API's core does: one call at a time for each Machine, and the
//! next call after the seconds in the answer. It makes no more concurrent calls than core has
//! workers. It leaves out what core writes to a finished Machine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::calls;
use crate::hooks::Hooks;

/// Core's `--machine-concurrency`. With the default of 100, core takes all the time of two cores
/// that also run the API servers.
const WORKERS: usize = 10;

/// Core's first delay after a failed call.
const AGAIN: Duration = Duration::from_secs(1);

/// The results of the calls.
#[derive(Default)]
pub struct Called {
    /// Milliseconds of each call with an answer.
    pub times: Vec<f64>,
    /// The reasons why other calls failed.
    pub failures: Vec<String>,
}

/// The caller. A drop ends all calls.
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
    /// Creates a caller that calls for no Machine yet.
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

    /// Calls for this Machine from now on, until it is done.
    pub fn begin(&mut self, number: usize) {
        let shared = Arc::clone(&self.shared);
        self.machines.spawn(shared.pursue(number));
    }

    /// The calls since the last `take`.
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
