//! The sysroot's lock, waited for no longer than allowed and with the holder named: libostree's own wait has
//! neither a deadline nor a name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ostree_ext::ostree::Sysroot;
use upgrade::Reason;

use crate::site::Site;

/// How often the lock is tried. It is held for seconds, so this costs nothing and is soon enough.
const PACE: Duration = Duration::from_millis(200);

/// The lock, given back when dropped.
pub struct Held<'a>(&'a Sysroot);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// Takes the lock and reads the deployments anew, since the last holder may have changed them.
///
/// # Errors
/// [`Reason::LockHeld`] when somebody else holds it until the deadline.
pub fn acquire(site: &Site) -> Result<Held<'_>, Reason> {
    let deadline = Instant::now() + Duration::from_secs(site.lock_seconds);
    while !site
        .sysroot
        .try_lock()
        .map_err(|error| site.failed(&error))?
    {
        if Instant::now() >= deadline {
            return Err(Reason::LockHeld {
                holder: holder(&site.path),
                seconds: site.lock_seconds,
            });
        }
        site.report.progress(
            0,
            format!(
                "waiting for the OSTree lock, held by {}",
                holder(&site.path)
            ),
        );
        thread::sleep(PACE);
    }
    let held = Held(&site.sysroot);
    site.sysroot
        .load_if_changed(site.never())
        .map_err(|error| site.failed(&error))?;
    Ok(held)
}

fn holder(sysroot: &Path) -> String {
    let found = fs::metadata(sysroot.join("ostree/lock"))
        .ok()
        .and_then(|lock| {
            let processes = fs::read_dir("/proc").ok()?;
            processes
                .flatten()
                .map(|entry| entry.path())
                .find(|process| holds(process, lock.dev(), lock.ino()))
        });
    found.map_or_else(
        || "a process that cannot be seen from here".to_owned(),
        |process| name(&process),
    )
}

/// libostree takes an open-file-description lock, for which /proc/locks shows no process (proc(5): pid -1).
/// The descriptor's own fdinfo has a `lock:` line for whoever holds it.
fn holds(process: &Path, device: u64, inode: u64) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else {
        return false;
    };
    let mut open = descriptors.flatten().filter(|entry| {
        fs::metadata(entry.path()).is_ok_and(|facts| facts.dev() == device && facts.ino() == inode)
    });
    open.any(|entry| {
        let info = fs::read_to_string(process.join("fdinfo").join(entry.file_name()));
        info.is_ok_and(|text| text.lines().any(|line| line.starts_with("lock:")))
    })
}

fn name(process: &Path) -> String {
    let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let pid = process.file_name().map(PathBuf::from).unwrap_or_default();
    format!("{} (pid {})", command.trim(), pid.display())
}
