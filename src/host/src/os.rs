//! What the kernel reports about itself and this boot.

use std::fs;
use std::path::Path;

use nix::sys::utsname::uname;
use nix::time::{ClockId, clock_gettime};
use upgrade::{BootId, SinceBoot};

use crate::error::{At, Error, Result};

/// Where the kernel reports this boot's id.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// This boot's id, read from `path`, which is [`BOOT_ID`] on a node.
///
/// # Errors
/// The file is missing or contains no id.
pub fn boot_id(path: &Path) -> Result<BootId> {
    let text = fs::read_to_string(path).at("reading", path)?;
    text.parse()
        .map_err(|bad: upgrade::Malformed| Error::damaged(path, bad.to_string()))
}

/// The time since this boot. It includes suspension, and clock changes do not affect it.
///
/// # Errors
/// The kernel has no such clock.
pub fn since_boot() -> Result<SinceBoot> {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME)
        .at("reading the clock", Path::new("CLOCK_BOOTTIME"))?;
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    let millis = u64::try_from(time.tv_nsec()).unwrap_or_default() / 1_000_000;
    Ok(SinceBoot(
        seconds.saturating_mul(1000).saturating_add(millis),
    ))
}

/// Seconds since 1970 by the node's clock.
#[must_use]
pub fn wall() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Whether a time service (chrony, timesyncd) synchronises the kernel's clock; `None` if the kernel
/// does not say.
#[must_use]
#[expect(unsafe_code, reason = "nix has no safe wrapper")]
pub fn clock_in_step() -> Option<bool> {
    // SAFETY: plain numbers, for which zero is valid; modes = 0 sets nothing, so the kernel only
    // writes into the struct (adjtimex(2)).
    let state = unsafe {
        let mut asked: nix::libc::timex = std::mem::zeroed();
        nix::libc::adjtimex(&raw mut asked)
    };
    (state >= 0).then_some(state != nix::libc::TIME_ERROR)
}

/// The machine, as `uname -m` prints it.
///
/// # Errors
/// The system call failed.
pub fn machine() -> Result<String> {
    let names = uname().at("asking", Path::new("uname"))?;
    Ok(names.machine().to_string_lossy().into_owned())
}
