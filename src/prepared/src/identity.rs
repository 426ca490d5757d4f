//! The credential of a host: a token of its own ServiceAccount, on the physical root.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::{Disk, write_json};
use crate::error::{At, Error, Result, if_there};
use crate::paths::Paths;

/// Where the kernel gives random digits.
const RANDOM: &str = "/proc/sys/kernel/random/uuid";

/// Half of the life of a token, in seconds.
const RENEWAL: u64 = 12 * 3600;

/// The credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The name of the Secret in which a token is handed over to a host that has none that is good.
    /// Only who may read the CareenHost knows it too.
    pub handover: String,
    /// The token.
    pub token: Option<String>,
    /// When the token was asked for, in seconds since 1970. 0 for one that was handed over.
    pub since: u64,
}

impl Identity {
    /// Reads the credential, or makes up a new one without a token.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn read(paths: &Paths, disk: &dyn Disk) -> Result<Self> {
        let path = file(paths);
        if let Some(text) = if_there(fs::read(&path), "reading", &path)? {
            let bad = |_| Error::unusable(&path, "it is not JSON; remove it to register again");
            return serde_json::from_slice(&text).map_err(bad);
        }
        host::durable::make_private_folder(&paths.state())?;
        let random = Path::new(RANDOM);
        let digits = fs::read_to_string(random).at("reading", random)?;
        let identity = Self {
            handover: digits.trim().replace('-', ""),
            token: None,
            since: 0,
        };
        identity.write(paths, disk)?;
        Ok(identity)
    }

    /// Writes it.
    ///
    /// # Errors
    /// It may not be on the disk.
    pub fn write(&self, paths: &Paths, disk: &dyn Disk) -> Result<()> {
        write_json(disk, &file(paths), self)
    }

    /// Whether the token is old enough to ask for the next one.
    #[must_use]
    pub const fn is_due(&self, now: u64) -> bool {
        now.saturating_sub(self.since) >= RENEWAL || now < self.since
    }
}

fn file(paths: &Paths) -> PathBuf {
    paths.state().join("identity.json")
}
