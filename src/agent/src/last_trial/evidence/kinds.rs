//! Why the kernel kept its last words. It writes them for a panic, and, as a node may set it
//! (`printk.always_kmsg_dump`, `max_reason` of ramoops), also when it reboots or halts in order. So
//! words alone show no panic: a reboot that an operator asks for leaves some too.

use std::path::Path;

use super::outside::{PANIC, end};

/// How the first line of a part begins that was written for a fault of the kernel (Linux,
/// fs/pstore/platform.c, `pstore_dump`: the reason, `#`, and a count). The other reasons are
/// `Emergency`, `Shutdown` and `Unknown`, and in older kernels `Restart`, `Halt` and `Poweroff`.
const FAULTS: [&str; 2] = ["Panic#", "Oops#"];

/// Whether the words in this file show a panic. systemd-pstore puts several parts into one file.
pub(super) fn is_of_a_panic(file: &Path) -> bool {
    let text = end(file).unwrap_or_default();
    let mut lines = text.lines();
    lines.any(|line| FAULTS.iter().any(|begin| line.starts_with(begin)) || line.contains(PANIC))
}
