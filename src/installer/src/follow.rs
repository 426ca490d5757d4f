//! Copies the agent's log into the pod's log: `journalctl --follow` on the host's journal, which
//! the pod mounts read-only.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use host::programs::Program;
use tracing::warn;
use upgrade::names;

/// How many earlier lines to show. What led to a pod's start is usually the interesting part.
const BEFORE: &str = "100";

/// Where a host stores its journal: on disk, or otherwise in memory.
const PLACES: [&str; 2] = ["var/log/journal", "run/log/journal"];

/// The units whose lines it copies.
const SHOWN: [&str; 4] = [
    names::AGENT_UNIT,
    names::RESTORE_UNIT,
    names::REPAIR_UNIT,
    names::KUBEADM_UNIT,
];

/// A journalctl that is restarted when it ends.
#[derive(Debug)]
pub struct Follower {
    root: PathBuf,
    child: Option<Child>,
    is_told: bool,
}

impl Follower {
    /// A follower for the host whose root is mounted here.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            child: None,
            is_told: false,
        }
    }

    /// Starts journalctl unless it runs.
    pub fn keep_alive(&mut self) {
        if let Some(child) = &mut self.child
            && matches!(child.try_wait(), Ok(None))
        {
            return;
        }
        // After a restart no earlier lines, because they were already shown.
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
        // An empty folder, left when the journal moved elsewhere, does not count.
        let holds = |place: &&PathBuf| place.read_dir().is_ok_and(|mut list| list.next().is_some());
        let place = places.iter().find(holds)?;
        let mut command = match Program::Journalctl.command() {
            Ok(command) => command,
            Err(missing) => return Some(Err(missing.into())),
        };
        command
            .arg(format!("--directory={}", place.display()))
            .args(["--follow", "--boot", "--output=cat", "--lines", before]);
        for unit in SHOWN {
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
