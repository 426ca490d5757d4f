//! How often an agent that has shown that it runs was started in this boot without lasting. It may
//! have been built on a newer system than the running one. It then ends before its first line of
//! code, where no agent can note that.
//!
//! The count is in /run: starts in a trial must not count in the old system, which after a fallback
//! runs what it ran when the trial was armed.

use std::fs;
use std::path::{Path, PathBuf};

use upgrade::names;

use super::bundle::AgentId;
use super::launched::Tried;
use crate::durable;
use crate::error::{Error, Result};

/// The file, in [`names::RUN_DIR`].
const FILE: &str = "agent-starts";

/// The count.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    folder: PathBuf,
}

impl Starts {
    /// The count of the system below `root`.
    pub(super) fn below(root: &Path) -> Self {
        let folder = root.join(names::RUN_DIR.trim_start_matches('/'));
        Self { folder }
    }

    /// The last counted bundle; `None` if unknown.
    pub(super) fn read(&self) -> Option<Tried> {
        let text = fs::read(self.folder.join(FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Counts one more start.
    ///
    /// # Errors
    /// The start is not counted.
    pub(super) fn count(&self, id: &AgentId) -> Result<()> {
        let path = self.folder.join(FILE);
        let text = serde_json::to_vec(&Tried::once_more(id, self.read()))
            .map_err(|error| Error::damaged(&path, error.to_string()))?;
        durable::make_private_folder(&self.folder)?;
        durable::write(&path, &text, 0o600)
    }

    /// Notes that this bundle has lasted.
    ///
    /// # Errors
    /// Its starts may still count.
    pub(super) fn lasted(&self, id: &AgentId) -> Result<()> {
        match self.read() {
            Some(counted) if counted.id == *id => durable::remove(&self.folder.join(FILE)),
            Some(_) | None => Ok(()),
        }
    }
}
