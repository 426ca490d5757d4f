//! Chooses what `careen-agent launch` runs, and notes it first.

use std::path::Path;

use upgrade::Release;
use upgrade::launch::{Candidates, Choice, STARTS, choose};

use super::bundle::{AgentId, Bundle};
use super::folder::{Agents, Role};
use super::found::Found;
use super::launched::{Launched, Tried};
use crate::error::{Error, Result};

/// What to run.
#[derive(Debug, Default)]
pub struct Pick {
    /// The bundle; `None` if the launcher itself is to run.
    pub bundle: Option<Bundle>,
    /// Problems found on the way, for the log. None of them prevents an agent from running.
    pub damage: Vec<Error>,
}

impl Agents {
    /// Chooses between the bundles and the image's own agent of this version, and notes the start.
    #[must_use]
    pub fn pick(&self, image: Option<&Release>) -> Pick {
        // If no pod has ever installed anything, there is nothing to check or to note.
        if !self.folder().is_dir() {
            return Pick::default();
        }
        let mut found = self.find();
        let mut damage = std::mem::take(&mut found.damage);
        let (tried, counted) = (
            self.launched().and_then(|last| last.tried),
            self.starts.read(),
        );
        let mut there = found.candidates(image.cloned(), tried.as_ref(), counted.as_ref());
        let mut choice = choose(&there);
        let note = Launched {
            left: left(&found, &there, choice),
            ..note(&found, choice, image, tried)
        };
        if let Err(error) = self.note(&note) {
            damage.push(error);
            // A new bundle whose starts are not counted would be tried forever.
            there.wanted = there.wanted.filter(|_| !found.is_on_probation());
            choice = choose(&there);
        }
        damage.extend(self.count(&found, &there, choice).err());
        let bundle = chosen(&found, choice).cloned();
        Pick { bundle, damage }
    }

    /// Counts a start. Starts of a proven bundle count only if there is an alternative to it, and
    /// only in this boot.
    fn count(&self, found: &Found, there: &Candidates, choice: Option<Choice>) -> Result<()> {
        match chosen(found, choice) {
            Some(bundle) if there.image.is_some() && found.is_proven(bundle) => {
                self.starts.count(&bundle.id)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Notes that this system cannot run the chosen bundle, and that the launcher at `own` runs in
    /// its place.
    ///
    /// # Errors
    /// The note may not be on the disk.
    pub fn could_not_run(&self, bundle: &Bundle, own: &Path, release: &str) -> Result<()> {
        self.note(&Launched {
            ran: self.bundle_of(own),
            release: release.to_owned(),
            tried: Some(Tried {
                id: bundle.id.clone(),
                starts: STARTS,
            }),
            left: self
                .id(Role::Proven)
                .ok()
                .flatten()
                .filter(|id| *id == bundle.id),
        })
    }

    /// The bundle that a program belongs to; `None` if it is the image's.
    fn bundle_of(&self, program: &Path) -> Option<AgentId> {
        let below = program.strip_prefix(self.folder()).ok()?;
        below.iter().next()?.to_str()?.parse().ok()
    }
}

/// The chosen bundle; `None` for the image's agent.
fn chosen(found: &Found, choice: Option<Choice>) -> Option<&Bundle> {
    match choice {
        Some(Choice::Wanted) => found.wanted.as_ref(),
        Some(Choice::Proven) => found.proven.as_ref(),
        Some(Choice::Image) | None => None,
    }
}

/// The proven bundle, if the image's agent runs only because of that bundle's starts.
fn left(found: &Found, there: &Candidates, choice: Option<Choice>) -> Option<AgentId> {
    let proven = found.proven.as_ref()?;
    let is_worn_out = there.proven.as_ref()?.starts >= STARTS;
    (is_worn_out && choice == Some(Choice::Image)).then(|| proven.id.clone())
}

fn note(
    found: &Found,
    choice: Option<Choice>,
    image: Option<&Release>,
    tried: Option<Tried>,
) -> Launched {
    let bundle = chosen(found, choice);
    let release = bundle.map(|bundle| &bundle.release).or(image);
    Launched {
        ran: bundle.map(|bundle| bundle.id.clone()),
        release: release.map(Release::to_string).unwrap_or_default(),
        tried: match bundle {
            Some(bundle) if choice == Some(Choice::Wanted) && found.is_on_probation() => {
                Some(Tried::once_more(&bundle.id, tried))
            }
            Some(_) | None => tried,
        },
        left: None,
    }
}
