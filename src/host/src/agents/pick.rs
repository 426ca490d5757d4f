//! What `careen-agent launch` runs, noted before it does.

use std::path::Path;

use upgrade::Release;
use upgrade::launch::{Candidates, Choice, STARTS, choose};

use super::bundle::{AgentId, Bundle};
use super::folder::{Agents, Role};
use super::found::Found;
use super::launched::{Launched, Tried};
use crate::error::{Error, Result};

/// What is to run.
#[derive(Debug, Default)]
pub struct Pick {
    /// The bundle; nothing when the launcher itself is to run.
    pub bundle: Option<Bundle>,
    /// What was found wrong on the way, for the log. Nothing of it keeps an agent from running.
    pub damage: Vec<Error>,
}

impl Agents {
    /// Picks what is to run beside the image's own agent of this version, and notes the start.
    #[must_use]
    pub fn pick(&self, image: Option<&Release>) -> Pick {
        // Where no pod ever installed anything there is nothing to look at, and nobody to leave a note for.
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
            // A new one whose starts are not counted would be tried for ever.
            there.wanted = there.wanted.filter(|_| !found.is_on_probation());
            choice = choose(&there);
        }
        damage.extend(self.count(&found, &there, choice).err());
        let bundle = chosen(&found, choice).cloned();
        Pick { bundle, damage }
    }

    /// Of one that has shown that it runs starts count where it can be left for another, and in this boot alone.
    fn count(&self, found: &Found, there: &Candidates, choice: Option<Choice>) -> Result<()> {
        match chosen(found, choice) {
            Some(bundle) if there.image.is_some() && found.is_proven(bundle) => {
                self.starts.count(&bundle.id)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Notes that a bundle which was picked is none that this system can run, and that the launcher, which lies at `own`, runs in its place.
    ///
    /// # Errors
    /// When the note may not be on the disk.
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

    /// The bundle that a program belongs to; nothing when it is the image's.
    fn bundle_of(&self, program: &Path) -> Option<AgentId> {
        let below = program.strip_prefix(self.folder()).ok()?;
        below.iter().next()?.to_str()?.parse().ok()
    }
}

/// The bundle that was chosen; nothing where it is the image's agent.
fn chosen(found: &Found, choice: Option<Choice>) -> Option<&Bundle> {
    match choice {
        Some(Choice::Wanted) => found.wanted.as_ref(),
        Some(Choice::Proven) => found.proven.as_ref(),
        Some(Choice::Image) | None => None,
    }
}

/// The proven one, where the image's runs for no other reason than its starts.
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
