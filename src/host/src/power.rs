//! Reboots without the help of any other program.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::reboot::{RebootMode, reboot};

use crate::freeze;

/// How long dirty data may take to reach the disk. On a frozen or dying disk it never does.
const SETTLE: Duration = Duration::from_secs(20);

/// How long the kernel may take to shut its devices down. A working disk has flushed its cache by
/// then: the kernel gives it 60 s (drivers/scsi/sd.h, `SD_TIMEOUT` times
/// `SD_FLUSH_TIMEOUT_MULTIPLIER`).
pub const DEVICES: Duration = Duration::from_secs(90);

/// Reboots at once. Returns only if neither the system call nor sysrq worked.
///
/// It does not ask systemd: systemd's reboot from an initramfs has failed before (systemd issue
/// 35757), and systemd may be what hangs. Nor does it wait for the kernel longer than `patience`.
/// reboot(2) first asks each driver to shut its device down (kernel/reboot.c,
/// `kernel_restart_prepare`), and a driver whose device no longer answers may never return.
pub fn force_reboot(boot: &Path, patience: Duration) -> nix::Error {
    let boot = boot.to_owned();
    let _ = in_time(SETTLE, move || {
        // With a frozen /boot the sync would wait forever.
        let _ = freeze::thaw(&boot);
        nix::unistd::sync();
    });
    unless_it_is_over(patience, reset);
    let refused = match reboot(RebootMode::RB_AUTOBOOT) {
        Ok(never) => never_returned(never),
        Err(error) => error,
    };
    reset();
    refused
}

/// Resets the machine without notifying any device (sysrq.rst, `b`).
fn reset() {
    let _ = fs::write("/proc/sys/kernel/sysrq", "1");
    let _ = fs::write("/proc/sysrq-trigger", "b");
}

/// Runs `second` in parallel after `patience`, unless the machine is down by then. If no thread can
/// be created, `second` does not run.
fn unless_it_is_over(patience: Duration, second: impl FnOnce() + Send + 'static) {
    let _ = thread::Builder::new().spawn(move || {
        thread::sleep(patience);
        second();
    });
}

/// Runs `work` and waits for its result no longer than `limit`: a system call on a dying disk
/// cannot be cancelled, only abandoned. If no thread can be created, `work` does not run. What must
/// be on the disk was flushed when it was written.
pub fn in_time<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, wait) = mpsc::channel();
    let spawned = thread::Builder::new().spawn(move || {
        let _ = done.send(work());
    });
    spawned.ok()?;
    wait.recv_timeout(limit).ok()
}

const fn never_returned(never: Infallible) -> nix::Error {
    match never {}
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn hang() {
        loop {
            thread::park();
        }
    }

    #[test]
    fn work_that_hangs_is_left_behind() {
        assert_eq!(in_time(Duration::ZERO, hang), None);
    }

    #[test]
    fn a_reboot_that_the_kernel_does_not_get_done_has_a_second_way() {
        let (reset, machine) = mpsc::channel();
        unless_it_is_over(Duration::ZERO, move || {
            let _ = reset.send("reset");
        });
        let _ = in_time(Duration::ZERO, hang);
        assert_eq!(machine.recv_timeout(SETTLE), Ok("reset"));
    }

    #[test]
    fn work_that_ends_is_waited_for() {
        let ended = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ended);
        let in_time = in_time(SETTLE, move || ends.store(true, Ordering::SeqCst));
        assert_eq!(in_time, Some(()));
        assert!(ended.load(Ordering::SeqCst));
    }
}
