//! Whose fault a panic is, by what the kernel says of it. A panic counts against the image, except
//! where the kernel names something else: the hardware, a disk, a person, a module that the image
//! does not bring, or a processor that did not run. A trial's kernel panics for the last
//! (`softlockup_panic=1`), and a hypervisor that takes the processors away for half a minute, as for
//! a snapshot, looks the same.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::modules;

/// What comes before the cause (Linux, kernel/panic.c).
pub(super) const PANIC: &str = "Kernel panic - not syncing: ";

/// How the causes begin that the image is not to blame for.
const OUTSIDE: [&str; 22] = [
    // kernel/watchdog.c.
    "softlockup: hung tasks",
    "Hard LOCKUP",
    // kernel/rcu/tree_stall.h, `panic_on_rcu_stall`, which a node sets: a processor that a hypervisor
    // took away stalls RCU as well.
    "RCU Stall",
    // kernel/hung_task.c: mostly a disk or a server that does not answer.
    "hung_task: blocked tasks",
    // arch/x86/kernel/cpu/mce/core.c.
    "Fatal machine check",
    "Fatal local machine check",
    "Machine check from unknown source",
    "Timeout: Not all CPUs entered broadcast exception handler",
    "Failed kernel mode recovery",
    "Machine checks to different user pages",
    "Too many consecutive machine checks",
    "Too many machine checks",
    // The same in older kernels.
    "Timeout synchronizing machine check",
    // arch/arm64/kernel/traps.c: the counterpart of a machine check.
    "Asynchronous SError Interrupt",
    // drivers/acpi/apei/ghes.c.
    "Fatal hardware error",
    // arch/x86/kernel/nmi.c, and drivers/watchdog/hpwdt.c: a person or a controller sends it.
    "NMI",
    "An NMI occurred",
    // drivers/edac.
    "EDAC",
    // drivers/tty/sysrq.c.
    "sysrq triggered crash",
    // mm/oom_kill.c, `panic_on_oom`, which a node sets.
    "Out of memory",
    // The same file: memory is gone, and there is no process to end.
    "System is deadlocked on memory",
    // The first process read a page that the disk did not deliver (SIGBUS).
    "Attempted to kill init! exitcode=0x00000007",
];

/// The cause of a panic that follows an oops (arch/x86/kernel/dumpstack.c, `oops_end`, and
/// arch/arm64/kernel/traps.c, `die`).
const OOPS: &str = "Fatal exception";

/// A disk with `errors=panic` (fs/ext4/super.c).
const DISK: &str = "panic forced after error";

/// The most that is read of one file, from its end, in bytes.
const MOST: u64 = 1 << 20;

/// The cause in the kernel's own words, if these files name one that is outside of the image at this
/// root, and no other panic.
pub(super) fn cause<'a>(
    files: impl Iterator<Item = &'a Path>,
    image: Option<&Path>,
) -> Option<String> {
    let texts: Vec<_> = files.filter_map(words).collect();
    let foreign = modules::foreign(&texts, image).map(str::to_owned);
    let causes: Vec<_> = texts.iter().flat_map(|text| causes(text)).collect();
    let is_of_an_oops = |cause: &str| foreign.is_some() && cause.contains(OOPS);
    let all = causes
        .iter()
        .all(|cause| is_outside(cause) || is_of_an_oops(cause));
    let named = causes.iter().find(|cause| is_outside(cause));
    named.map(ToString::to_string).or(foreign).filter(|_| all)
}

fn is_outside(cause: &str) -> bool {
    OUTSIDE.iter().any(|begin| cause.starts_with(begin)) || cause.contains(DISK)
}

fn words(file: &Path) -> Option<String> {
    // The other files of kdump are the memory of the kernel.
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.contains("dmesg")
        .then(|| end(file).unwrap_or_default())
}

fn causes(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter_map(|line| line.split_once(PANIC));
    lines.map(|(_, cause)| cause.trim())
}

/// The last part of a file.
pub(super) fn end(file: &Path) -> std::io::Result<String> {
    let mut open = File::open(file)?;
    let length = open.metadata()?.len();
    open.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut text = Vec::new();
    open.take(MOST).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
