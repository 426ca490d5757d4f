//! Follows the folder of manifests: each whole manifest is kept within milliseconds, long before
//! the kubelet has started a pod from it.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use host::ledger::Ledger;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use upgrade::control_plane::Component;

/// How often the thread looks whether it shall end, in milliseconds.
const LOOK: u16 = 100;

/// A thread that follows the folder.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), String>>,
}

impl Watch {
    /// Begins, and returns when all manifests that are there have been kept.
    pub fn start(ledger: &Ledger) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = channel();
        let (own, ledger) = (Arc::clone(&stop), ledger.clone());
        let thread = thread::spawn(move || follow(&ledger, &own, &tell));
        match told.recv() {
            Ok(()) => Ok(Self { stop, thread }),
            Err(_) => Err(match thread.join() {
                Ok(Err(why)) => why,
                Ok(Ok(())) | Err(_) => "the thread that follows the manifests ended".to_owned(),
            }),
        }
    }

    /// Ends, after a last look at all manifests.
    pub fn stop(self) -> Result<(), String> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.map_err(|_| "the thread that follows the manifests broke off".to_owned())?
    }
}

fn follow(ledger: &Ledger, stop: &AtomicBool, tell: &Sender<()>) -> Result<(), String> {
    let watch = watch(ledger).map_err(|error| {
        let folder = ledger.manifests().display();
        format!("{folder} cannot be watched: {error}")
    })?;
    // After the watch began, so that nothing is between both.
    keep_all(ledger)?;
    if tell.send(()).is_err() {
        return Ok(());
    }
    // A manifest that cannot be kept now may be kept with the next change, or at the end.
    while !stop.load(Ordering::Relaxed) {
        if has_changed(&watch).map_err(|error| error.to_string())? {
            let _ = keep_all(ledger);
        }
    }
    keep_all(ledger)
}

fn watch(ledger: &Ledger) -> nix::Result<Inotify> {
    let watch = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
    let changes = AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO;
    watch.add_watch(ledger.manifests(), changes | AddWatchFlags::IN_ONLYDIR)?;
    Ok(watch)
}

/// Waits a moment for a change. Too many at once are one change as well.
fn has_changed(watch: &Inotify) -> nix::Result<bool> {
    let mut wait = [PollFd::new(watch.as_fd(), PollFlags::POLLIN)];
    match poll(&mut wait, PollTimeout::from(LOOK)) {
        Ok(0) | Err(Errno::EINTR) => return Ok(false),
        Ok(_) => {}
        Err(error) => return Err(error),
    }
    match watch.read_events() {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

fn keep_all(ledger: &Ledger) -> Result<(), String> {
    for component in Component::ALL {
        let kept = ledger.follow(component);
        kept.map_err(|error| error.to_string())?;
    }
    Ok(())
}
