//! Saves the kubelet's state on a separate thread. A slow disk takes minutes for that. The loop,
//! which feeds systemd's watchdog (`WatchdogSec=` of the agent's unit), has one thread. When that
//! thread saved the state, systemd killed the agent in each attempt, forever, and the node stayed
//! cordoned.

use std::fmt::Display;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use host::Places;
use host::record::Store;
use host::snapshot::Before;
use tokio::sync::{Mutex, oneshot, watch};
use tokio::time::sleep;
use upgrade::step::Effect;
use upgrade::{Reason, UpgradeId};

use crate::access::StepEnd;
use crate::node::saved;

/// How long a disk may take for one file of at most 64 MiB before that counts as a failure.
const SILENCE: Duration = Duration::from_secs(600);

/// Saves the kubelet's state, one save at a time, even if a cancelled attempt still waits for the
/// disk.
#[derive(Default)]
pub struct Snapshots {
    one: Arc<Mutex<()>>,
}

impl Snapshots {
    /// Saves the state for this upgrade, and removes those of other upgrades, which only a person
    /// could end. When cancelled, it stops before the next file.
    ///
    /// # Errors
    /// [`Reason::SnapshotFailed`].
    pub async fn save(
        &self,
        places: &Places,
        id: &UpgradeId,
        cancel: watch::Receiver<bool>,
    ) -> Result<StepEnd, Reason> {
        let (places, id) = (places.clone(), id.clone());
        let trials = trials(&places)?;
        let save = move |goes_on: &dyn Fn() -> bool| {
            let before = Before { id: &id, trials };
            let whole = host::snapshot::save_while(&places, &before, goes_on)?;
            if whole {
                saved::keep(&places, Some(&id));
            }
            Ok(whole)
        };
        self.beside_the_loop(save, cancel).await
    }

    /// The thread outlives a cancelled caller, and ends as soon as it notices.
    async fn beside_the_loop(
        &self,
        save: impl FnOnce(&dyn Fn() -> bool) -> host::Result<bool> + Send + 'static,
        cancel: watch::Receiver<bool>,
    ) -> Result<StepEnd, Reason> {
        let alone = Arc::clone(&self.one).try_lock_owned();
        let alone = alone.map_err(|_| failed("the previous try still waits for the disk"))?;
        let (further, progress) = watch::channel(());
        let (end, ended) = oneshot::channel();
        let work = move || {
            let goes_on = || {
                further.send_replace(());
                !further.is_closed() && !*cancel.borrow()
            };
            let saved = save(&goes_on);
            // Drop the lock before the end is announced, because the receiver may begin the next
            // save.
            drop(alone);
            let _ = end.send(saved);
        };
        let thread = thread::Builder::new().name("snapshot".to_owned());
        thread.spawn(work).map_err(failed)?;
        outcome(ended, progress).await
    }
}

/// Looks whether the state could be saved now, on a separate thread as well. Nothing is written.
///
/// # Errors
/// [`Reason::SnapshotFailed`].
pub async fn rehearse(places: &Places) -> Result<(), Reason> {
    let places = places.clone();
    let (end, ended) = oneshot::channel();
    let work = move || {
        let _ = end.send(host::snapshot::rehearse(&places));
    };
    let thread = thread::Builder::new().name("rehearsal".to_owned());
    thread.spawn(work).map_err(failed)?;
    match tokio::time::timeout(SILENCE, ended).await {
        Ok(Ok(rehearsed)) => rehearsed.map_err(failed),
        Ok(Err(_)) => Err(failed("its thread ended")),
        Err(_) => {
            let seconds = SILENCE.as_secs();
            Err(failed(format!("the disk has not answered in {seconds} s")))
        }
    }
}

/// How many trials the upgrade has had, by the record that says that its state is about to be
/// saved.
fn trials(places: &Places) -> Result<u32, Reason> {
    let record = Store::new(&places.sysroot).read()?;
    Ok(record.upgrade.map_or(0, |upgrade| upgrade.attempt.tries))
}

/// Waits for the end as long as the save makes progress.
async fn outcome(
    mut ended: oneshot::Receiver<host::Result<bool>>,
    mut progress: watch::Receiver<()>,
) -> Result<StepEnd, Reason> {
    loop {
        tokio::select! {
            saved = &mut ended => return match saved {
                Ok(Ok(true)) => Ok(StepEnd::Done(Effect::Plain)),
                Ok(Ok(false)) => Ok(StepEnd::Cancelled),
                Ok(Err(error)) => Err(failed(error)),
                // Only a build that unwinds gets here. The shipped agent aborts with the thread
                // (`[profile.image]`), and the next one finds the step in the record.
                Err(_) => Err(failed("its thread ended")),
            },
            Ok(()) = progress.changed() => {}
            () = sleep(SILENCE) => {
                let seconds = SILENCE.as_secs();
                return Err(failed(format!("the disk has not copied one file in {seconds} s")));
            }
        }
    }
}

fn failed(detail: impl Display) -> Reason {
    Reason::SnapshotFailed {
        detail: detail.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Longer than any of this takes. If the loop hangs, this limit ends the test.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn never() -> watch::Receiver<bool> {
        watch::channel(false).1
    }

    fn done() -> Result<StepEnd, Reason> {
        Ok(StepEnd::Done(Effect::Plain))
    }

    #[tokio::test]
    async fn the_loop_goes_on_while_a_slow_disk_is_waited_for() {
        let snapshots = Snapshots::default();
        let (disk, slow) = mpsc::channel();
        let save = move |_: &dyn Fn() -> bool| Ok(slow.recv_timeout(PATIENCE).is_ok());
        let the_loop = async move { disk.send(()).unwrap() };
        let (saved, ()) = tokio::join!(snapshots.beside_the_loop(save, never()), the_loop);
        assert_eq!(saved, done());
    }

    #[tokio::test]
    async fn who_is_told_to_stop_stops_between_two_files() {
        let snapshots = Snapshots::default();
        let (cancel, cancelled) = watch::channel(false);
        let save = |goes_on: &dyn Fn() -> bool| {
            while goes_on() {
                thread::yield_now();
            }
            Ok(false)
        };
        let told = async move { cancel.send_replace(true) };
        let (saved, _) = tokio::join!(snapshots.beside_the_loop(save, cancelled), told);
        assert_eq!(saved, Ok(StepEnd::Cancelled));
    }

    /// When nothing else runs, the paused clock advances to the next timer.
    #[tokio::test(start_paused = true)]
    async fn snapshot_times_out_on_a_hung_disk_and_blocks_a_second_one() {
        let snapshots = Snapshots::default();
        let (disk, hangs) = mpsc::channel::<()>();
        let save = move |_: &dyn Fn() -> bool| Ok(hangs.recv().is_ok());
        let saved = snapshots.beside_the_loop(save, never()).await;
        let reason = saved.unwrap_err();
        assert!(reason.to_string().contains("in 600 s"), "{reason}");
        assert_eq!(reason.disposition(), upgrade::Disposition::Retry);
        let again = snapshots.beside_the_loop(|_: &dyn Fn() -> bool| Ok(true), never());
        let reason = again.await.unwrap_err();
        assert!(reason.to_string().contains("still waits"), "{reason}");
        drop(disk);
    }

    #[tokio::test]
    async fn panicked_snapshot_fails_and_the_next_one_succeeds() {
        let snapshots = Snapshots::default();
        let dies = |_: &dyn Fn() -> bool| -> host::Result<bool> { std::panic::panic_any("a test") };
        let saved = snapshots.beside_the_loop(dies, never()).await;
        assert!(saved.is_err(), "{saved:?}");
        // The ending thread still holds the lock that separates two saves for a moment.
        let held = snapshots.one.lock().await;
        drop(held);
        let again = snapshots.beside_the_loop(|_: &dyn Fn() -> bool| Ok(true), never());
        assert_eq!(again.await, done());
    }
}
