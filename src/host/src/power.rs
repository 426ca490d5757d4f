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
const SYNC: Duration = Duration::from_secs(20);

/// Reboots at once. Returns only when neither the system call nor sysrq worked.
///
/// systemd is not asked: its reboot from an initramfs has failed before (systemd issue 35757), and it may be what hangs.
pub fn force_reboot(boot: &Path) -> nix::Error {
    // A frozen /boot would let the sync below wait for ever.
    let _ = freeze::thaw(boot);
    sync_in_time();
    let refused = match reboot(RebootMode::RB_AUTOBOOT) {
        Ok(never) => never_returned(never),
        Err(error) => error,
    };
    let _ = fs::write("/proc/sys/kernel/sysrq", "1");
    let _ = fs::write("/proc/sysrq-trigger", "b");
    refused
}

fn sync_in_time() {
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        nix::unistd::sync();
        let _ = done.send(());
    });
    let _ = wait.recv_timeout(SYNC);
}

const fn never_returned(never: Infallible) -> nix::Error {
    match never {}
}
