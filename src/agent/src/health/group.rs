//! A program with all its children, in its own process group, so that one signal ends them all. If
//! only a shell is killed, the program that it waited for stays.

use std::process::ExitStatus;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// The group. If it is dropped before its leader has ended, all of it is killed.
pub struct Group {
    leader: Child,
}

impl Group {
    /// Starts the leader.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn spawn(command: &mut Command) -> std::io::Result<Self> {
        let leader = command.process_group(0).kill_on_drop(true).spawn()?;
        Ok(Self { leader })
    }

    /// The leader's output. Returns the streams only once.
    pub const fn streams(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.leader.stdout.take(), self.leader.stderr.take())
    }

    /// Waits for the leader, even if other processes of its group still run.
    ///
    /// # Errors
    /// The kernel does not report how it ended.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.leader.wait().await
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // There is an id only while the leader is not reaped. Until then no other process can have
        // its number.
        let id = self.leader.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.map(Pid::from_raw) {
            // It may have ended at this moment, and then there is nothing to kill.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// Helpers that show processes to tests.
#[cfg(test)]
pub mod seen {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    const LOOK: Duration = Duration::from_millis(10);

    /// Longer than a loaded machine takes to end a process, and far shorter than the programs of
    /// tests sleep.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A shell script that writes a child's id to this file and waits for that child.
    pub fn hangs_in_a_child(id: &Path) -> String {
        format!("{}; wait", leaves_a_child(id))
    }

    /// The same script, without waiting.
    pub fn leaves_a_child(id: &Path) -> String {
        format!("sleep 1000 & echo $! > {}", id.display())
    }

    /// The child's id, once it is there.
    pub async fn child(id: &Path) -> u32 {
        loop {
            let written = fs::read_to_string(id).unwrap_or_default();
            if let Some(id) = written.strip_suffix('\n') {
                return id.parse().unwrap();
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether the process runs. A zombie does not run.
    pub fn lives(id: u32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
        state.flatten().is_some_and(|state| state != 'Z')
    }

    /// Whether the process ends.
    pub async fn ends(id: u32) -> bool {
        let end = async {
            while lives(id) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, end).await.is_ok()
    }
}
