//! What there is to choose from.

use upgrade::Release;
use upgrade::launch::{Candidates, Installed};

use super::{Bundle, Tried};
use crate::error::Error;

/// The bundles with a role, every digest checked.
#[derive(Debug, Default)]
pub struct Found {
    /// What the pod wants to run.
    pub wanted: Option<Bundle>,
    /// The last that has shown that it runs.
    pub proven: Option<Bundle>,
    /// Why one that has a role is not among them.
    pub damage: Vec<Error>,
}

impl Found {
    /// Whether the wanted one has yet to show that it runs.
    #[must_use]
    pub fn is_on_probation(&self) -> bool {
        let id = |bundle: &Option<Bundle>| bundle.as_ref().map(|bundle| bundle.id.clone());
        self.wanted.is_some() && id(&self.wanted) != id(&self.proven)
    }

    /// As the choice sees them, beside the image's own.
    #[must_use]
    pub fn candidates(&self, image: Option<Release>, tried: Option<&Tried>) -> Candidates {
        let tried = tried.filter(|_| self.is_on_probation());
        let installed = |bundle: &Bundle| Installed {
            release: bundle.release.clone(),
            starts: tried
                .filter(|tried| tried.id == bundle.id)
                .map_or(0, |tried| tried.starts),
        };
        Candidates {
            image,
            wanted: self.wanted.as_ref().map(installed),
            proven: self.proven.as_ref().map(installed),
        }
    }
}
