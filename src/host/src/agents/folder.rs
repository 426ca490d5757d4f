//! The folder of the installed agents: its links and notes.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use upgrade::names;

use crate::durable;
use crate::error::{At, Error, Result};

use super::bundle::{AgentId, Bundle};
use super::found::Found;
use super::launched::Launched;
use super::starts::Starts;

/// The file that notes what was started last.
const LAUNCHED: &str = "launched";

/// The file with the id of the rejected bundle.
const GIVEN_UP: &str = "given-up";

/// One of the two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The bundle that the pod wants to run.
    Wanted,
    /// The last bundle that has shown that it runs.
    Proven,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Wanted => "wanted",
            Self::Proven => "proven",
        }
    }
}

/// The folder of the installed agents.
#[derive(Clone, Debug)]
pub struct Agents {
    folder: PathBuf,
    pub(super) starts: Starts,
}

impl Agents {
    /// The folder in the system below `root`.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        let relative = names::AGENTS_DIR.trim_start_matches('/');
        Self {
            folder: root.join(relative),
            starts: Starts::below(root),
        }
    }

    /// Its path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The bundle with this role.
    ///
    /// # Errors
    /// The link names no bundle.
    pub fn id(&self, role: Role) -> Result<Option<AgentId>> {
        let link = self.folder.join(role.name());
        let target = match fs::read_link(&link) {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).at("reading link", &link),
        };
        let id = target.to_string_lossy().parse();
        id.map(Some)
            .map_err(|bad: upgrade::Malformed| Error::damaged(&link, bad.to_string()))
    }

    /// The bundle with this id; every digest is verified.
    ///
    /// # Errors
    /// The bundle is missing or incomplete.
    pub fn bundle(&self, id: &AgentId) -> Result<Bundle> {
        let folder = self.folder.join(id.as_str());
        let bundle = Bundle::open(&folder)?;
        if bundle.id == *id {
            return Ok(bundle);
        }
        Err(Error::damaged(&folder, format!("it holds {}", bundle.id)))
    }

    /// Copies a bundle into the folder, unless it is already there and complete.
    ///
    /// # Errors
    /// The copy is not on the disk, or differs from the original.
    pub fn take(&self, bundle: &Bundle) -> Result<()> {
        if self.bundle(&bundle.id).is_ok() {
            return Ok(());
        }
        let new = self.folder.join("taking");
        durable::remove_folder(&new)?;
        // Root runs these programs, so no other user may enter.
        durable::make_private_folder(&self.folder)?;
        if let Err(error) = copy(bundle, &new) {
            // On a full disk the remains would take room from others.
            let _ = durable::remove_folder(&new);
            return Err(error);
        }
        let place = self.folder.join(bundle.id.as_str());
        durable::remove_folder(&place)?;
        durable::rename(&new, &place)
    }

    /// Gives a bundle a role.
    ///
    /// # Errors
    /// The link may still be the old one after a power cut.
    pub fn appoint(&self, role: Role, id: &AgentId) -> Result<()> {
        let new = self.folder.join(format!("{}.new", role.name()));
        durable::remove(&new)?;
        symlink(id.as_str(), &new).at("linking", &new)?;
        durable::rename(&new, &self.folder.join(role.name()))
    }

    /// Removes a role.
    ///
    /// # Errors
    /// The link may be there again after a power cut.
    pub fn dismiss(&self, role: Role) -> Result<()> {
        durable::remove(&self.folder.join(role.name()))
    }

    /// The bundle that was tried and did not start.
    #[must_use]
    pub fn given_up(&self) -> Option<AgentId> {
        let text = fs::read_to_string(self.folder.join(GIVEN_UP)).ok()?;
        text.trim().parse().ok()
    }

    /// Notes a bundle that did not start, so that it is not tried again unasked.
    ///
    /// # Errors
    /// The note may be lost in a power cut.
    pub fn give_up(&self, id: &AgentId) -> Result<()> {
        let text = format!("{id}\n");
        durable::write(&self.folder.join(GIVEN_UP), text.as_bytes(), 0o644)
    }

    /// Makes a bundle the wanted one, with all its starts available, whatever happened to it
    /// before.
    ///
    /// # Errors
    /// The change may be lost in a power cut.
    pub fn want(&self, id: &AgentId) -> Result<()> {
        durable::remove(&self.folder.join(GIVEN_UP))?;
        if let Some(last) = self.launched().filter(|last| last.tried.is_some()) {
            self.note(&Launched {
                tried: None,
                ..last
            })?;
        }
        self.appoint(Role::Wanted, id)
    }

    /// What was started last; `None` if unknown.
    #[must_use]
    pub fn launched(&self) -> Option<Launched> {
        let text = fs::read(self.folder.join(LAUNCHED)).ok()?;
        // A note that cannot be read only costs some more attempts with an agent that does not
        // start.
        serde_json::from_slice(&text).ok()
    }

    /// Notes what is about to be started.
    ///
    /// # Errors
    /// The note may not be on the disk.
    pub fn note(&self, launched: &Launched) -> Result<()> {
        let path = self.folder.join(LAUNCHED);
        let text = serde_json::to_vec(launched)
            .map_err(|error| Error::damaged(&path, error.to_string()))?;
        durable::write(&path, &text, 0o644)
    }

    /// Notes that a bundle, which was started last, has run long enough: if it ends from now on,
    /// that says nothing about it.
    ///
    /// Without this, the reboots of an upgrade would use up its starts, because no link moves
    /// between the first arming and the end. After three reboots another agent would run than the
    /// one that armed the trial, and the pod would reject an agent that worked well.
    ///
    /// # Errors
    /// The note may not be on the disk.
    pub fn lasted(&self, id: &AgentId) -> Result<()> {
        self.starts.lasted(id)?;
        let tried = |last: &Launched| last.tried.as_ref().is_some_and(|tried| tried.id == *id);
        match self.launched().filter(tried) {
            Some(last) if last.ran.as_ref() == Some(id) => self.note(&Launched {
                tried: None,
                ..last
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// The complete bundles that have a role, and what is wrong with the others.
    #[must_use]
    pub fn find(&self) -> Found {
        let mut damage = Vec::new();
        let mut whole = |role| {
            let id = self
                .id(role)
                .and_then(|id| id.map(|id| self.bundle(&id)).transpose());
            id.unwrap_or_else(|error| {
                damage.push(error);
                None
            })
        };
        let (wanted, proven) = (whole(Role::Wanted), whole(Role::Proven));
        Found {
            wanted,
            proven,
            damage,
        }
    }

    /// Removes the bundles that have no role and do not run.
    ///
    /// # Errors
    /// A bundle cannot be removed.
    pub fn clear_out(&self) -> Result<()> {
        let ran = self.launched().and_then(|last| last.ran);
        let kept = [self.id(Role::Wanted)?, self.id(Role::Proven)?, ran];
        for entry in fs::read_dir(&self.folder).at("listing", &self.folder)? {
            let entry = entry.at("listing", &self.folder)?;
            let name = entry.file_name();
            let Ok(id) = name.to_string_lossy().parse::<AgentId>() else {
                continue;
            };
            if !kept.iter().flatten().any(|kept| *kept == id) {
                durable::remove_folder(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Removes everything.
    ///
    /// # Errors
    /// Some of it may be left.
    pub fn remove(&self) -> Result<()> {
        // First what names a bundle: a launcher that runs in between finds no bundle instead of
        // half of one.
        for name in [Role::Wanted.name(), Role::Proven.name(), LAUNCHED, GIVEN_UP] {
            durable::remove(&self.folder.join(name))?;
        }
        durable::remove_folder(&self.folder)
    }
}

/// Copies a bundle and verifies the copy.
fn copy(bundle: &Bundle, to: &Path) -> Result<()> {
    durable::make_private_folder(to)?;
    bundle.copy(to)?;
    let copied = Bundle::open(to)?;
    if copied.id == bundle.id {
        return Ok(());
    }
    Err(Error::damaged(to, format!("it should be {}", bundle.id)))
}
