//! Turns a signal that asks for an end into libostree's cancellation, where that is safe.

use ostree_ext::gio;
use ostree_ext::prelude::CancellableExt;

use crate::process::stop_signals;

/// Cancels `stop` when the process is asked to end. The signals stay blocked everywhere else.
pub fn cancel_on_signal(stop: &gio::Cancellable) {
    let stop = stop.clone();
    std::thread::spawn(move || {
        if stop_signals().wait().is_ok() {
            stop.cancel();
        }
    });
}
