//! The lock of a raise: one at a time, and none beside a kubeadm that an earlier one has left.
//!
//! kubeadm has the lock as its standard input. So the lock is free only when no kubeadm of a raise
//! runs.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use host::durable;
use upgrade::names;

use super::users::{self, User};

/// How long a kubeadm that was killed may take to be gone. One that waits for a disk takes longer.
const GONE: Duration = Duration::from_secs(30);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Takes the lock. A raise that runs is waited for, at most for so long. A kubeadm whose raise was
/// killed is ended: nobody follows what it writes, so a power cut could lose a manifest.
///
/// # Errors
/// A raise runs, or such a kubeadm does not end. The message is for a person.
pub(super) async fn take(root: &Path, longest: Duration) -> Result<File, String> {
    let lock = open(root)?;
    let begun = Instant::now();
    let mut killed = Vec::new();
    let mut since = None;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(said(&error)),
        }
        let users = users::of(&lock).map_err(|error| said(&error))?;
        for left in users::left(&users).filter(|left| !killed.contains(&left.id)) {
            left.end(&lock);
            since.get_or_insert_with(Instant::now);
        }
        killed.extend(users::left(&users).map(|left| left.id));
        match since {
            Some(since) if since.elapsed() > GONE => return Err(stays(&users)),
            None if begun.elapsed() > longest => return Err(runs(&users)),
            Some(_) | None => tokio::time::sleep(PAUSE).await,
        }
    }
}

fn open(root: &Path) -> Result<File, String> {
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    let made = durable::make_private_folder(&below(names::RUN_DIR));
    made.map_err(|error| error.to_string())?;
    File::create(below(names::CONTROL_LOCK)).map_err(|error| said(&error))
}

fn said(error: &std::io::Error) -> String {
    format!("{}: {error}", names::CONTROL_LOCK)
}

fn stays(users: &[User]) -> String {
    format!(
        "kubeadm does not end: {} is of a raise that was killed, and stays after SIGKILL. Look at \
         it with ps, and reboot this node if it waits for a disk.",
        list(users)
    )
}

fn runs(users: &[User]) -> String {
    format!(
        "a raise runs on this node: {} has {}. Wait for its end, then try again.",
        list(users),
        names::CONTROL_LOCK
    )
}

fn list(users: &[User]) -> String {
    let all: Vec<_> = users.iter().map(|user| user.id.to_string()).collect();
    match all.as_slice() {
        [] => "a process".to_owned(),
        all => format!("process {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;

    const SHORT: Duration = Duration::from_millis(300);

    fn sh(script: &str) -> Command {
        let mut sh = Command::new("sh");
        sh.arg("-c").arg(script).process_group(0);
        sh
    }

    /// What is in this file, once a whole line is.
    fn line(path: &Path) -> String {
        loop {
            let text = fs::read_to_string(path).unwrap_or_default();
            if let Some(line) = text.strip_suffix('\n') {
                return line.to_owned();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether a process ends. It may have closed its files before.
    fn ends(id: &str) -> bool {
        let begun = Instant::now();
        while runs(id) && begun.elapsed() < GONE {
            std::thread::sleep(Duration::from_millis(20));
        }
        !runs(id)
    }

    /// Whether a process runs. A zombie does not run.
    fn runs(id: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('Z'));
        state == Some(false)
    }

    /// A kubeadm that has lost its raise, and the program that it runs.
    fn left(root: &Path) -> (Child, String) {
        let lock = open(root).unwrap();
        lock.lock().unwrap();
        let copy = root.join("copy");
        let script = format!("sleep 100 & echo $! > {}; wait", copy.display());
        let kubeadm = sh(&script).stdin(Stdio::from(lock)).spawn().unwrap();
        (kubeadm, line(&copy))
    }

    #[tokio::test]
    async fn kubeadm_that_a_killed_raise_left_is_ended_first() {
        let root = tempfile::tempdir().unwrap();
        let (mut kubeadm, copy) = left(root.path());
        assert!(runs(&copy));
        let lock = take(root.path(), Duration::ZERO).await.unwrap();
        assert!(ends(&kubeadm.id().to_string()) && ends(&copy));
        kubeadm.wait().unwrap();
        let why = take(root.path(), SHORT).await.unwrap_err();
        assert!(why.contains("a raise runs on this node"), "{why}");
        drop(lock);
        assert!(take(root.path(), SHORT).await.is_ok());
    }

    /// As careen-control does it: the lock is open in it, and kubeadm has it as its input.
    #[tokio::test]
    async fn raise_that_runs_is_not_ended_until_it_is_killed() {
        let root = tempfile::tempdir().unwrap();
        drop(open(root.path()).unwrap());
        let at = |name: &str| -> PathBuf { root.path().join(name) };
        let (lock, told) = (at(names::CONTROL_LOCK.trim_start_matches('/')), at("told"));
        let script = format!(
            "exec 9<>{}; flock 9; sleep 100 <&9 9<&- & echo $! > {}; wait",
            lock.display(),
            told.display()
        );
        let mut raise = sh(&script).spawn().unwrap();
        let kubeadm = line(&told);
        let why = take(root.path(), SHORT).await.unwrap_err();
        assert!(why.contains(&raise.id().to_string()), "{why}");
        assert!(runs(&kubeadm), "half an upgrade is worse than a late one");
        raise.kill().unwrap();
        raise.wait().unwrap();
        assert!(runs(&kubeadm), "nothing else ends it here");
        take(root.path(), Duration::ZERO).await.unwrap();
        assert!(ends(&kubeadm));
    }

    /// An editor or a backup may have it open, and it may be what a process writes to.
    #[tokio::test]
    async fn process_that_only_looks_at_the_lock_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        drop(open(root.path()).unwrap());
        let lock = root
            .path()
            .join(names::CONTROL_LOCK.trim_start_matches('/'));
        let script = format!("exec 9<{}; exec sleep 100", lock.display());
        let mut other = sh(&script).spawn().unwrap();
        take(root.path(), Duration::ZERO).await.unwrap();
        assert!(runs(&other.id().to_string()));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
