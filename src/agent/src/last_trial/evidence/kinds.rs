//! Why the kernel kept its last words. It writes them for a panic, and, as a node may set it
//! (`printk.always_kmsg_dump`, `max_reason` of ramoops), also when it reboots or halts in order. So
//! words alone show no panic: a reboot that an operator asks for leaves some too.

use std::path::Path;

use super::outside::{PANIC, end};

/// How the first line of a part begins that was written for a panic (Linux, fs/pstore/platform.c,
/// `pstore_dump`: the reason, `#`, and a count). The other reasons are `Emergency`, `Shutdown` and
/// `Unknown`, in older kernels `Restart`, `Halt` and `Poweroff`, and `Oops`. An oops of a trial
/// panics (`oops=panic`) and leaves a part for that too. A part for an oops alone is of the system
/// that armed the trial: the kernel shows it after the next boot only (`pstore_update_ms`).
const OF_A_PANIC: &str = "Panic#";

/// Whether the words in this file show a panic. systemd-pstore puts several parts into one file.
pub(super) fn is_of_a_panic(file: &Path) -> bool {
    let text = end(file).unwrap_or_default();
    let mut lines = text.lines();
    lines.any(|line| line.starts_with(OF_A_PANIC) || line.contains(PANIC))
}
