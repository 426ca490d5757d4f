//! The policy in force: the policy file with the rules of its time zone. If the file is refused,
//! the last accepted policy stays in force. A file that users other than root may write is refused.
//!
//! The last accepted policy is kept next to the record, because an agent that has only just started
//! judges a trial. The time zone database of its image may lack the zone; then only the policy's
//! hours are lost.

mod misnamed;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use host::{durable, trust};
use tracing::{error, warn};
use upgrade::{Broken, Policy, PolicyRead, Reason, names};

use crate::{policy, zones};

/// Reads the policy file. An absent file means the defaults.
///
/// # Errors
/// [`Reason::BadPolicy`], with the place in the file.
pub fn read(path: &Path) -> Result<Policy, Reason> {
    Ok(load(path, Path::new(names::ZONES))?.policy)
}

/// A valid policy and its text.
struct Loaded {
    text: String,
    policy: Policy,
}

fn load(path: &Path, zones: &Path) -> Result<Loaded, Reason> {
    if let Some(fault) = trust::fault(path) {
        return Err(policy::untrusted(path, &fault));
    }
    if let Some((file, meant)) = misnamed::first(path) {
        return Err(policy::misnamed(&file, meant));
    }
    let Loaded { text, mut policy } = parsed(path)?;
    let window = &mut policy.window;
    window.rules = zones::rules(zones, &window.zone).map_err(|accepted| {
        let file = path.display().to_string();
        policy::refused(&file, &text, "window.zone", &accepted)
    })?;
    Ok(Loaded { text, policy })
}

/// The policy that was valid on the system that kept it. If this system does not know its zone,
/// everything else still applies. Nothing new begins in hours without rules, and a trial is judged
/// as the operator wants.
fn kept(path: &Path, zones: &Path) -> Option<Loaded> {
    let mut loaded = parsed(path).ok()?;
    let window = &mut loaded.policy.window;
    window.rules = zones::rules(zones, &window.zone).unwrap_or_default();
    Some(loaded)
}

/// Parses the file without the rules of its zone.
fn parsed(path: &Path) -> Result<Loaded, Reason> {
    let file = path.display().to_string();
    let text = match fs::read_to_string(path) {
        // A dangling link means that the operator intended a policy, not the defaults.
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => String::new(),
        read => read.map_err(|error| policy::unreadable(&file, &error))?,
    };
    let policy = policy::parse(&file, &text)?;
    Ok(Loaded { text, policy })
}

/// The policy file, which the loop reads repeatedly.
pub struct PolicyFile {
    path: PathBuf,
    zones: PathBuf,
    kept: PathBuf,
    last: Option<Loaded>,
    told: Option<Reason>,
}

impl PolicyFile {
    /// Takes the policy file and the folder of the record.
    #[must_use]
    pub fn new(path: PathBuf, state: &Path) -> Self {
        let name = Path::new(names::LAST_POLICY).file_name();
        Self {
            path,
            zones: PathBuf::from(names::ZONES),
            kept: state.join(name.unwrap_or_default()),
            last: None,
            told: None,
        }
    }

    /// Reads what the file says now. An error in it is logged once.
    pub fn read(&mut self) -> PolicyRead {
        match load(&self.path, &self.zones) {
            Ok(loaded) => {
                self.told = None;
                let policy = loaded.policy.clone();
                self.keep(loaded);
                Ok(policy)
            }
            Err(reason) => {
                if self.told.as_ref() != Some(&reason) {
                    error!("{reason} An upgrade under way continues with the last valid policy.");
                    self.told = Some(reason.clone());
                }
                let last = Box::new(self.last());
                Err(Broken { reason, last })
            }
        }
    }

    /// Remembers a valid policy, also for the next agent.
    fn keep(&mut self, loaded: Loaded) {
        let before = self.last.take().map(|last| last.text);
        if before.as_ref() != Some(&loaded.text)
            && let Err(error) = self.write(&loaded.text)
        {
            warn!("cannot save the policy in force: {error}");
        }
        self.last = Some(loaded);
    }

    /// Without a policy file nothing is kept, because the defaults need no copy.
    fn write(&self, text: &str) -> host::Result<()> {
        if fs::read_to_string(&self.kept).unwrap_or_default() == text {
            return Ok(());
        }
        if let Some(folder) = self.kept.parent() {
            durable::make_private_folder(folder)?;
        }
        durable::write(&self.kept, text.as_bytes(), 0o600)
    }

    fn last(&mut self) -> Policy {
        if self.last.is_none() {
            self.last = kept(&self.kept, &self.zones);
        }
        let last = self.last.as_ref();
        last.map(|last| last.policy.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
