//! The node as the pod mounts it, and the pod's bundle.

use std::path::{Path, PathBuf};

use host::agents::{Agents, Bundle};
use host::{Places, Result};
use upgrade::names;

/// The node and the bundle for it.
#[derive(Clone, Debug)]
pub struct Node {
    /// The pod's bundle.
    pub brought: Bundle,
    /// The installed agents.
    pub agents: Agents,
    /// The host's folders.
    pub places: Places,
}

impl Node {
    /// The host's root as the pod mounts it, and the folder of the pod's bundle.
    ///
    /// # Errors
    /// If the bundle is incomplete.
    pub fn new(root: &Path, bundle: &Path) -> Result<Self> {
        Ok(Self {
            brought: Bundle::open(bundle)?,
            agents: Agents::below(root),
            places: Places::running(root),
        })
    }

    /// The pod's path for a path of the host.
    #[must_use]
    pub fn path(&self, on_the_host: &str) -> PathBuf {
        self.places.root.join(on_the_host.trim_start_matches('/'))
    }

    /// The folder of the installer's units, for an image without them.
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
