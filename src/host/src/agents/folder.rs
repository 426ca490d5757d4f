//! The folder of the installed agents, and what each of its links and notes says.

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

/// The file with what was started last.
const LAUNCHED: &str = "launched";

/// The file with the id of the bundle that was given up.
const GIVEN_UP: &str = "given-up";

/// One of the two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What the pod wants to run.
    Wanted,
    /// The last that has shown that it runs.
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
    /// The one of the system below `root`.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        let relative = names::AGENTS_DIR.trim_start_matches('/');
        Self {
            folder: root.join(relative),
            starts: Starts::below(root),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Which bundle has this role.
    ///
    /// # Errors
    /// When there is a link that names none.
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

    /// The bundle of that id, every digest checked.
    ///
    /// # Errors
    /// When it is not there or not whole.
    pub fn bundle(&self, id: &AgentId) -> Result<Bundle> {
        let folder = self.folder.join(id.as_str());
        let bundle = Bundle::open(&folder)?;
        if bundle.id == *id {
            return Ok(bundle);
        }
        Err(Error::damaged(&folder, format!("it holds {}", bundle.id)))
    }

    /// Copies a bundle here, unless it is here already and whole.
    ///
    /// # Errors
    /// When the copy is not on the disk, or is not what was to be copied.
    pub fn take(&self, bundle: &Bundle) -> Result<()> {
        if self.bundle(&bundle.id).is_ok() {
            return Ok(());
        }
        let new = self.folder.join("taking");
        durable::remove_folder(&new)?;
        // Programs that root runs: nobody else is to look for a way in.
        durable::make_private_folder(&self.folder)?;
        if let Err(error) = copy(bundle, &new) {
            // On a disk that is full it would keep what is left of it from others.
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
    /// When the link may still be the old one after a power cut.
    pub fn appoint(&self, role: Role, id: &AgentId) -> Result<()> {
        let new = self.folder.join(format!("{}.new", role.name()));
        durable::remove(&new)?;
        symlink(id.as_str(), &new).at("linking", &new)?;
        durable::rename(&new, &self.folder.join(role.name()))
    }

    /// Takes a role from whoever has it.
    ///
    /// # Errors
    /// When the link may be there again after a power cut.
    pub fn dismiss(&self, role: Role) -> Result<()> {
        durable::remove(&self.folder.join(role.name()))
    }

    /// The bundle that was tried and did not start.
    #[must_use]
    pub fn given_up(&self) -> Option<AgentId> {
        let text = fs::read_to_string(self.folder.join(GIVEN_UP)).ok()?;
        text.trim().parse().ok()
    }

    /// Remembers a bundle that did not start, so that it is not tried again unasked.
    ///
    /// # Errors
    /// When that may be forgotten after a power cut.
    pub fn give_up(&self, id: &AgentId) -> Result<()> {
        let text = format!("{id}\n");
        durable::write(&self.folder.join(GIVEN_UP), text.as_bytes(), 0o644)
    }

    /// Wants a bundle, with all its starts ahead of it, whatever became of it before.
    ///
    /// # Errors
    /// When that may be forgotten after a power cut.
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

    /// What was started last; nothing when nobody knows.
    #[must_use]
    pub fn launched(&self) -> Option<Launched> {
        let text = fs::read(self.folder.join(LAUNCHED)).ok()?;
        // A note that cannot be read costs some more tries of an agent that does not start, and no more.
        serde_json::from_slice(&text).ok()
    }

    /// Notes what is about to be started.
    ///
    /// # Errors
    /// When the note may not be on the disk.
    pub fn note(&self, launched: &Launched) -> Result<()> {
        let path = self.folder.join(LAUNCHED);
        let text = serde_json::to_vec(launched)
            .map_err(|error| Error::damaged(&path, error.to_string()))?;
        durable::write(&path, &text, 0o644)
    }

    /// Takes note that a bundle, which was started last, has lasted: what ends it from now on says nothing of it. Without this the reboots of
    /// an upgrade would use up its starts, for no link is moved from the first arming to the end: behind three of them another agent would
    /// run than the trial was armed with, and the pod would give up one that served well.
    ///
    /// # Errors
    /// When the note may not be on the disk.
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

    /// What is whole of what has a role, and what is not.
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
    /// When one cannot be removed.
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

    /// Removes all of it.
    ///
    /// # Errors
    /// When something of it may be left.
    pub fn remove(&self) -> Result<()> {
        // What names a bundle first: a launcher that comes between then finds none, not half of one.
        for name in [Role::Wanted.name(), Role::Proven.name(), LAUNCHED, GIVEN_UP] {
            durable::remove(&self.folder.join(name))?;
        }
        durable::remove_folder(&self.folder)
    }
}

/// Copies a bundle and looks at the copy.
fn copy(bundle: &Bundle, to: &Path) -> Result<()> {
    durable::make_private_folder(to)?;
    bundle.copy(to)?;
    let copied = Bundle::open(to)?;
    if copied.id == bundle.id {
        return Ok(());
    }
    Err(Error::damaged(to, format!("it should be {}", bundle.id)))
}
