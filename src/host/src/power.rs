//! Rebooting without asking anybody.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::reboot::{RebootMode, reboot};

use crate::freeze;

/// How long what is dirty may take to reach the disk: on a frozen or dying one it never does.
const SETTLE: Duration = Duration::from_secs(20);

/// Reboots at once. Returns only when neither the system call nor sysrq worked.
///
/// systemd is not asked: its reboot from an initramfs has failed before (systemd issue 35757), and it may be what hangs.
pub fn force_reboot(boot: &Path) -> nix::Error {
    let boot = boot.to_owned();
    in_time(SETTLE, move || {
        // A frozen /boot would let the sync wait for ever.
        let _ = freeze::thaw(&boot);
        nix::unistd::sync();
    });
    let refused = match reboot(RebootMode::RB_AUTOBOOT) {
        Ok(never) => never_returned(never),
        Err(error) => error,
    };
    let _ = fs::write("/proc/sys/kernel/sysrq", "1");
    let _ = fs::write("/proc/sysrq-trigger", "b");
    refused
}

/// Waits for `work` no longer than `limit`: a system call on a dying disk cannot be called back, only left behind. Where no
/// thread is to be had it is left out. What must be on the disk was flushed when it was written.
pub fn in_time(limit: Duration, work: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let spawned = thread::Builder::new().spawn(move || {
        work();
        let _ = done.send(());
    });
    if spawned.is_ok() {
        let _ = wait.recv_timeout(limit);
    }
}

const fn never_returned(never: Infallible) -> nix::Error {
    match never {}
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn work_that_hangs_is_left_behind() {
        in_time(Duration::ZERO, || {
            loop {
                thread::park();
            }
        });
    }

    #[test]
    fn work_that_ends_is_waited_for() {
        let ended = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ended);
        in_time(SETTLE, move || ends.store(true, Ordering::SeqCst));
        assert!(ended.load(Ordering::SeqCst));
    }
}
