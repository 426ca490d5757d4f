//! One agent per node: if two agents wrote one record, each would mistake the other's step for its
//! own.
//!
//! The record's generation stops the older agent from writing, but only after both have begun a
//! step. So an agent holds a lock on a file for as long as it lives, and the next agent waits for
//! it. That is no error after a restart, or if somebody runs an agent by hand. The kernel releases
//! the lock of an agent that is killed, and programs that the agent starts do not inherit it.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use systemd::Notify;
use tracing::{info, warn};

/// How often the agent asks systemd for more time. systemd then grants twice this time. The
/// TimeoutStartSec of systemd is 90 s.
const MORE_TIME: Duration = Duration::from_secs(30);

/// Takes the lock, which the caller holds to the end. Returns `None` where locking fails, because a
/// node without an agent would be worse.
pub async fn take(path: &Path, systemd: &mut Notify) -> Option<Flock<File>> {
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) => return without(path, &error.to_string()),
    };
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Some(lock),
        Err((file, Errno::EWOULDBLOCK)) => {
            let waits = format!(
                "another careen-agent runs on this node (lslocks shows which process holds {}); waiting until it ends",
                path.display()
            );
            info!("{waits}");
            systemd.status(&waits);
            wait(file, path, systemd).await
        }
        Err((_, errno)) => without(path, errno.desc()),
    }
}

/// Blocks in a separate thread. The kernel wakes the thread when the lock is free, so nothing
/// polls.
async fn wait(file: File, path: &Path, systemd: &Notify) -> Option<Flock<File>> {
    let mut waiting =
        tokio::task::spawn_blocking(move || Flock::lock(file, FlockArg::LockExclusive));
    loop {
        systemd.more_time(2 * MORE_TIME);
        tokio::select! {
            ended = &mut waiting => return match ended {
                Ok(Ok(lock)) => Some(lock),
                Ok(Err((_, errno))) => without(path, errno.desc()),
                Err(error) => without(path, &error.to_string()),
            },
            () = tokio::time::sleep(MORE_TIME) => {}
        }
    }
}

fn without(path: &Path, why: &str) -> Option<Flock<File>> {
    warn!(
        "cannot lock {}: {why}; running without the lock. Make sure that no other careen-agent runs",
        path.display()
    );
    None
}
