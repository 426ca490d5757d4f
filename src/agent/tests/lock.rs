//! A second agent on one node waits for the end of the first.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agent::lock::take;
use systemd::Notify;
use tempfile::TempDir;

/// A folder for the lock, and systemd's end of the socket.
struct Node {
    folder: TempDir,
    heard: UnixDatagram,
}

impl Node {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let heard = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        heard.set_nonblocking(true).unwrap();
        Self { folder, heard }
    }

    fn lock(&self) -> PathBuf {
        self.folder.path().join("agent.lock")
    }

    fn systemd(&self) -> Notify {
        Notify::at(self.folder.path().join("notify").to_str())
    }

    /// What systemd was told since it was last asked.
    fn told(&self) -> Vec<String> {
        let mut buffer = [0; 512];
        let next = || {
            self.heard
                .recv(&mut buffer)
                .ok()
                .map(|length| buffer[..length].to_vec())
        };
        let messages = std::iter::from_fn(next);
        messages
            .map(|text| String::from_utf8(text).unwrap())
            .collect()
    }
}

/// Another process that holds the lock as an agent does.
fn other_agent(lock: &Path) -> Child {
    let mut other = Command::new("flock")
        .arg("--no-fork")
        .arg(lock)
        .args(["sh", "-c", "echo held; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stdout = BufReader::new(other.stdout.as_mut().unwrap());
    stdout.read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    other
}

#[tokio::test]
async fn the_only_agent_has_the_lock_at_once_and_says_nothing() {
    let node = Node::new();
    assert!(take(&node.lock(), &mut node.systemd()).await.is_some());
    assert!(node.told().is_empty());
}

#[tokio::test]
async fn second_agent_waits_says_so_once_and_follows_the_first() {
    let node = Node::new();
    let (path, mut systemd) = (node.lock(), node.systemd());
    let first = take(&path, &mut node.systemd()).await.unwrap();
    let mut second = std::pin::pin!(take(&path, &mut systemd));
    assert!(futures::poll!(second.as_mut()).is_pending());
    assert!(futures::poll!(second.as_mut()).is_pending());
    let told = node.told();
    let [status, more_time] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert!(
        status.starts_with("STATUS=another careen-agent runs"),
        "{status}"
    );
    assert!(more_time.starts_with("EXTEND_TIMEOUT_USEC="), "{more_time}");
    drop(first);
    assert!(second.await.is_some());
}

#[tokio::test]
async fn an_agent_that_was_killed_leaves_no_lock() {
    let node = Node::new();
    let (path, mut systemd) = (node.lock(), node.systemd());
    let mut other = other_agent(&path);
    let mut second = std::pin::pin!(take(&path, &mut systemd));
    assert!(futures::poll!(second.as_mut()).is_pending());
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(second.await.is_some());
}

#[tokio::test]
async fn where_no_lock_can_be_an_agent_runs_all_the_same() {
    let node = Node::new();
    let nowhere = node.folder.path().join("none/agent.lock");
    assert!(take(&nowhere, &mut node.systemd()).await.is_none());
}
