//! What `careen-agent launch` runs, noted before it does.

use std::path::Path;

use upgrade::Release;
use upgrade::launch::{Choice, STARTS, choose};

use super::{AgentId, Agents, Bundle, Found, Launched, Tried};
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
        let tried = self.launched().and_then(|last| last.tried);
        let mut there = found.candidates(image.cloned(), tried.as_ref());
        let mut choice = choose(&there);
        if let Err(error) = self.note(&note(&found, choice, image, tried)) {
            damage.push(error);
            // A new one whose starts are not counted would be tried for ever.
            there.wanted = there.wanted.filter(|_| !found.is_on_probation());
            choice = choose(&there);
        }
        let bundle = match choice {
            Some(Choice::Wanted) => found.wanted,
            Some(Choice::Proven) => found.proven,
            Some(Choice::Image) | None => None,
        };
        Pick { bundle, damage }
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
        })
    }

    /// The bundle that a program belongs to; nothing when it is the image's.
    fn bundle_of(&self, program: &Path) -> Option<AgentId> {
        let below = program.strip_prefix(self.folder()).ok()?;
        below.iter().next()?.to_str()?.parse().ok()
    }
}

fn note(
    found: &Found,
    choice: Option<Choice>,
    image: Option<&Release>,
    tried: Option<Tried>,
) -> Launched {
    let bundle = match choice {
        Some(Choice::Wanted) => found.wanted.as_ref(),
        Some(Choice::Proven) => found.proven.as_ref(),
        Some(Choice::Image) | None => None,
    };
    let release = bundle.map(|bundle| &bundle.release).or(image);
    Launched {
        ran: bundle.map(|bundle| bundle.id.clone()),
        release: release.map(Release::to_string).unwrap_or_default(),
        tried: match bundle {
            Some(bundle) if choice == Some(Choice::Wanted) && found.is_on_probation() => {
                Some(once_more(bundle, tried))
            }
            Some(_) | None => tried,
        },
    }
}

fn once_more(bundle: &Bundle, tried: Option<Tried>) -> Tried {
    let before = tried.filter(|tried| tried.id == bundle.id);
    Tried {
        id: bundle.id.clone(),
        starts: before.map_or(0, |tried| tried.starts).saturating_add(1),
    }
}
