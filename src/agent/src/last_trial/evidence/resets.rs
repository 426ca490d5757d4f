//! Which of the machine's watchdogs have reset it. systemd feeds one of them. A node-health operator
//! or a cluster of its own (sbd) may feed another, and resets the machine on purpose where it cannot
//! reach its peers. That says nothing about the image.

use std::fs;
use std::path::{Path, PathBuf};

use systemd::Bus;
use tracing::debug;

/// The bit of a watchdog's `bootstatus` that says that it reset the machine
/// (include/uapi/linux/watchdog.h, `WDIOF_CARDRESET`).
const CARD_RESET: u32 = 0x20;

/// The folder of each watchdog, with its `identity` and `bootstatus`.
const WATCHDOGS: &str = "sys/class/watchdog";

/// The watchdog that systemd feeds unless it is told of another (systemd-system.conf(5),
/// `WatchdogDevice=`). /dev/watchdog is the same one.
const FIRST: &str = "watchdog0";

/// The watchdog that systemd feeds, or would feed in a trial, by the name in /sys.
pub async fn fed() -> String {
    let device = async { Bus::system().await?.watchdog_device().await };
    let device = device.await.unwrap_or_else(|error| {
        debug!("systemd does not name its watchdog: {error}");
        String::new()
    });
    name(Path::new(&device))
}

/// A link to a device counts as the device.
fn name(device: &Path) -> String {
    let device = fs::canonicalize(device).unwrap_or_else(|_| device.to_owned());
    match device.file_name().and_then(|name| name.to_str()) {
        None | Some("watchdog") => FIRST.to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// What this watchdog calls itself. Another kernel may number the watchdogs in another order.
pub(super) fn identity(kernel: &Path, device: &str) -> Option<String> {
    identity_in(&kernel.join(WATCHDOGS).join(device))
}

fn identity_in(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("identity")).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The folders of the watchdogs that say that they reset the machine.
pub(super) fn all(kernel: &Path) -> Vec<PathBuf> {
    let mut reset = watchdogs(kernel);
    reset.retain(|folder| has_reset(folder));
    reset.sort();
    reset
}

fn watchdogs(kernel: &Path) -> Vec<PathBuf> {
    let devices = fs::read_dir(kernel.join(WATCHDOGS));
    let folders = devices.into_iter().flatten().flatten();
    folders.map(|device| device.path()).collect()
}

fn has_reset(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join("bootstatus"));
    let status = text.ok().and_then(|text| text.trim().parse::<u32>().ok());
    status.is_some_and(|status| status & CARD_RESET != 0)
}

/// Whether one of these is the watchdog that systemd fed, which has this identity. The first one
/// is, where none has it.
pub(super) fn is_systemds(resets: &[PathBuf], kernel: &Path, fed: Option<&str>) -> bool {
    let has_it = |folder: &PathBuf| fed.is_some() && identity_in(folder).as_deref() == fed;
    if watchdogs(kernel).iter().any(has_it) {
        resets.iter().any(has_it)
    } else {
        resets.iter().any(|folder| folder.ends_with(FIRST))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn watchdog_of_systemd_is_the_first_unless_it_names_another() {
        let dev = tempfile::tempdir().unwrap();
        fs::write(dev.path().join("watchdog1"), "").unwrap();
        symlink("watchdog1", dev.path().join("watchdog-ipmi")).unwrap();
        let named = |device: &str| name(&dev.path().join(device));
        assert_eq!(name(Path::new("")), "watchdog0");
        assert_eq!(named("watchdog"), "watchdog0");
        assert_eq!(named("watchdog1"), "watchdog1");
        assert_eq!(named("watchdog-ipmi"), "watchdog1", "a link");
    }
}
