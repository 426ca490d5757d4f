//! The node as the pod has it mounted, and what the pod brings.

use std::path::{Path, PathBuf};

use host::agents::{Agents, Bundle};
use host::{Places, Result};
use upgrade::names;

/// The node and the bundle for it.
#[derive(Clone, Debug)]
pub struct Node {
    /// What the pod brings.
    pub brought: Bundle,
    /// What is installed.
    pub agents: Agents,
    /// The host's folders.
    pub places: Places,
}

impl Node {
    /// The host's root as it is mounted in the pod, and the folder of the pod's bundle.
    ///
    /// # Errors
    /// When the bundle is not whole.
    pub fn new(root: &Path, bundle: &Path) -> Result<Self> {
        Ok(Self {
            brought: Bundle::open(bundle)?,
            agents: Agents::below(root),
            places: Places::running(root),
        })
    }

    /// Where a path of the host lies for us.
    #[must_use]
    pub fn path(&self, on_the_host: &str) -> PathBuf {
        self.places.root.join(on_the_host.trim_start_matches('/'))
    }

    /// The folder of our units, for an image without them.
    #[must_use]
    pub fn units(&self) -> PathBuf {
        self.path(names::POD_UNITS)
    }

    /// The generator that gives them to systemd.
    #[must_use]
    pub fn generator(&self) -> PathBuf {
        self.path(names::POD_GENERATOR)
    }
}
