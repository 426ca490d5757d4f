//! The agent's log as the pod's own: `journalctl --follow` on the host's journal, which the pod has mounted read-only.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use host::programs::Program;
use tracing::warn;
use upgrade::names;

/// How many lines of before are shown: what led to a pod's start is mostly what one wants to see.
const BEFORE: &str = "100";

/// Where a host keeps its journal: on the disk, or where it keeps none there, in memory.
const PLACES: [&str; 2] = ["var/log/journal", "run/log/journal"];

/// A journalctl that is started again when it ends.
#[derive(Debug)]
pub struct Follower {
    root: PathBuf,
    child: Option<Child>,
    is_told: bool,
}

impl Follower {
    /// Of the host whose root is mounted there.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            child: None,
            is_told: false,
        }
    }

    /// Starts it unless it runs.
    pub fn keep_alive(&mut self) {
        if let Some(child) = &mut self.child
            && matches!(child.try_wait(), Ok(None))
        {
            return;
        }
        // After an end nothing of before: it was shown.
        let before = if self.child.is_some() { "0" } else { BEFORE };
        let started = self.command(before).map(|command| command?.spawn());
        self.child = match started {
            Some(Ok(child)) => Some(child),
            Some(Err(error)) => {
                self.tell_once(&error.to_string());
                None
            }
            None => {
                self.tell_once("the host does not have a journal");
                None
            }
        };
    }

    fn tell_once(&mut self, why: &str) {
        if !self.is_told {
            let unit = names::AGENT_UNIT;
            warn!("cannot show the agent's log here ({why}). Run journalctl -u {unit} on the node");
            self.is_told = true;
        }
    }

    fn command(&self, before: &str) -> Option<io::Result<Command>> {
        let places = PLACES.map(|place| self.root.join(place));
        // A folder that is left empty where the journal went elsewhere is none.
        let holds = |place: &&PathBuf| place.read_dir().is_ok_and(|mut list| list.next().is_some());
        let place = places.iter().find(holds)?;
        let mut command = match Program::Journalctl.command() {
            Ok(command) => command,
            Err(missing) => return Some(Err(missing.into())),
        };
        command
            .arg(format!("--directory={}", place.display()))
            .args(["--follow", "--boot", "--output=cat", "--lines", before]);
        for unit in [names::AGENT_UNIT, names::RESTORE_UNIT, names::KUBEADM_UNIT] {
            command.args(["--unit", unit]);
        }
        command.stdin(Stdio::null());
        Some(Ok(command))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
