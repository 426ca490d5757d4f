//! The sysroot's lock, with a limit on the wait and the name of the holder. libostree's own wait
//! has neither.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ostree_ext::ostree::Sysroot;
use upgrade::Reason;

use crate::site::Site;

/// How often to try the lock. It is held for seconds, so this costs nothing and is soon enough.
const PACE: Duration = Duration::from_millis(200);

/// How often to look for its holder among all open files.
const LOOK: Duration = Duration::from_secs(1);
/// The lock's file (ostree-sysroot.c, `OSTREE_SYSROOT_LOCKFILE`).
const LOCK: &str = "ostree/lock";

/// The lock, released when dropped.
pub struct Held<'a>(&'a Sysroot);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// Takes the lock and reads the deployments again, because the last holder may have changed them.
///
/// # Errors
/// [`Reason::LockHeld`] if another process holds it until the deadline.
pub fn acquire(site: &Site) -> Result<Held<'_>, Reason> {
    let deadline = Instant::now() + Duration::from_secs(site.lock_seconds);
    let mut holder = Holder::default();
    while !site
        .sysroot
        .try_lock()
        .map_err(|error| site.failed(&error))?
    {
        if Instant::now() >= deadline {
            return Err(Reason::LockHeld {
                holder: holder.name(&site.path),
                seconds: site.lock_seconds,
            });
        }
        site.report.progress(
            0,
            format!(
                "waiting for the OSTree lock, held by {}",
                holder.name(&site.path)
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

/// The holder of the lock, as of the last look.
#[derive(Default)]
struct Holder(Option<(Instant, String)>);

impl Holder {
    fn name(&mut self, sysroot: &Path) -> String {
        match &self.0 {
            Some((looked, name)) if looked.elapsed() < LOOK => name.clone(),
            _ => {
                let name = holder(sysroot);
                self.0 = Some((Instant::now(), name.clone()));
                name
            }
        }
    }
}

fn holder(sysroot: &Path) -> String {
    let found = fs::metadata(sysroot.join(LOCK)).ok().and_then(|lock| {
        let processes = fs::read_dir("/proc").ok()?;
        processes
            .flatten()
            .map(|entry| entry.path())
            .find(|process| holds(process, lock.ino()))
    });
    found.map_or_else(
        || "a process that is not visible from here".to_owned(),
        |process| name(&process),
    )
}

/// libostree takes an open-file-description lock, for which /proc/locks shows no process (proc(5):
/// pid -1). The descriptor's own fdinfo has a `lock:` line for the holder.
///
/// This does not look at the descriptor's target: it may be on an unreachable server, where a stat
/// call blocks forever. The lock's inode is in that line, and the kernel itself writes it. The
/// line's device is not that of stat(2) on every file system: btrfs has one for each subvolume.
fn holds(process: &Path, inode: u64) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fdinfo")) else {
        return false;
    };
    let mut open = descriptors.flatten().filter(|entry| {
        let info = fs::read_to_string(entry.path()).unwrap_or_default();
        info.lines().any(|line| locked(line) == Some(inode))
    });
    open.any(|entry| {
        let file = fs::read_link(process.join("fd").join(entry.file_name()));
        file.is_ok_and(|file| file.ends_with(LOCK))
    })
}

/// The inode in a line as `lock:\t1: OFDLCK ADVISORY  WRITE -1 fd:01:1234 0 EOF` (proc(5),
/// /proc/pid/fdinfo; Linux, fs/locks.c, `lock_get_status`).
fn locked(line: &str) -> Option<u64> {
    let words = line.strip_prefix("lock:")?.split_whitespace();
    let mut places = words.map(|word| word.split(':'));
    let mut place = places.find(|place| place.clone().count() == 3)?;
    place.nth(2)?.parse().ok()
}

fn name(process: &Path) -> String {
    let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let pid = process.file_name().map(PathBuf::from).unwrap_or_default();
    format!("{} (pid {})", command.trim(), pid.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inode_is_read_from_the_line_of_a_lock_and_from_no_other() {
        let line = "lock:\t1: OFDLCK ADVISORY  WRITE -1 fd:01:1234 0 EOF";
        assert_eq!(locked(line), Some(1234));
        for line in ["pos:\t0", "ino:\t1234", "lock:\t1: ->", "lock:"] {
            assert_eq!(locked(line), None, "{line}");
        }
    }
}
