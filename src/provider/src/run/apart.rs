//! Threads of their own for the hooks. Without `--client-ca` every pod may call, and each call is
//! parsed and answered in one piece. On these threads such calls delay other calls, but neither the
//! renewals of the Lease nor the watches.

use tokio::runtime::{Builder, Runtime};

/// How many calls are parsed and answered at once.
const THREADS: usize = 2;

/// The threads. They end when this is dropped, with what runs on them.
pub(super) struct Apart(Option<Runtime>);

impl Apart {
    pub(super) fn new() -> std::io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(THREADS).thread_name("hooks");
        Ok(Self(Some(builder.enable_all().build()?)))
    }

    /// Runs this on the threads. Dropping the returned future ends them.
    pub(super) async fn run(self, work: impl Future<Output = ()> + Send + 'static) {
        let Some(runtime) = &self.0 else { return };
        if let Err(error) = runtime.spawn(work).await {
            tracing::error!("the server of the hooks ended: {error}");
        }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // A runtime that is dropped within another one must not wait for its tasks.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn calls_that_occupy_the_hooks_threads_delay_no_other_task() {
        let (release, held) = mpsc::channel::<()>();
        let (begun, mut begins) = tokio::sync::mpsc::channel(1);
        let occupied = tokio::spawn(Apart::new().unwrap().run(async move {
            let name = std::thread::current().name().map(str::to_owned);
            begun.send(name).await.unwrap();
            // A runtime that this thread shared would be at a standstill from here on.
            let _ = held.recv();
        }));
        assert_eq!(begins.recv().await.flatten().as_deref(), Some("hooks"));
        tokio::task::yield_now().await;
        assert!(!occupied.is_finished());
        drop(release);
        occupied.await.unwrap();
    }
}
