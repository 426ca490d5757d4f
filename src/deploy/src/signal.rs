//! Ends a run that may be stopped: first by libostree's cancellation, then by exiting, because a
//! pull that waits for a silent remote does not check for cancellation. A repository can be left at
//! any moment.

use std::process;
use std::thread;
use std::time::Duration;

use ostree_ext::gio;
use ostree_ext::prelude::CancellableExt;
use upgrade::Reason;
use upgrade::deploy::Line;

use crate::process::stop_signals;
use crate::report;

/// How long libostree may take to end on its own. It removes its lock files and its temporary
/// folder then.
const GRACE: Duration = Duration::from_secs(2);

/// Ends the run when the process is asked to end. The signals stay blocked everywhere else.
pub fn end_on_signal(stop: &gio::Cancellable, reason: Reason) {
    let stop = stop.clone();
    thread::spawn(move || {
        if stop_signals().wait().is_ok() {
            stop.cancel();
            thread::sleep(GRACE);
            report::verdict(&Line::Failed(reason));
            process::exit(1);
        }
    });
}
