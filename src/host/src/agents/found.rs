//! The installed agents to choose from.

use upgrade::Release;
use upgrade::launch::{Candidates, Installed};

use super::bundle::Bundle;
use super::launched::Tried;
use crate::error::Error;

/// The bundles with a role; every digest is verified.
#[derive(Debug, Default)]
pub struct Found {
    /// The bundle that the pod wants to run.
    pub wanted: Option<Bundle>,
    /// The last bundle that has shown that it runs.
    pub proven: Option<Bundle>,
    /// Why a bundle with a role is not included.
    pub damage: Vec<Error>,
}

impl Found {
    /// Whether the wanted bundle has not shown yet that it runs.
    #[must_use]
    pub fn is_on_probation(&self) -> bool {
        let id = |bundle: &Option<Bundle>| bundle.as_ref().map(|bundle| bundle.id.clone());
        self.wanted.is_some() && id(&self.wanted) != id(&self.proven)
    }

    /// Whether this bundle has shown that it runs.
    #[must_use]
    pub fn is_proven(&self, bundle: &Bundle) -> bool {
        let proven = self.proven.as_ref();
        proven.is_some_and(|proven| proven.id == bundle.id)
    }

    /// The candidates for the choice, beside the image's own agent. `tried` is the note about a
    /// bundle on probation, `in_this_boot` about a proven one.
    #[must_use]
    pub fn candidates(
        &self,
        image: Option<Release>,
        tried: Option<&Tried>,
        in_this_boot: Option<&Tried>,
    ) -> Candidates {
        let installed = |bundle: &Bundle| {
            let counted = match self.is_proven(bundle) {
                true => in_this_boot,
                false => tried,
            };
            Installed {
                release: bundle.release.clone(),
                starts: counted
                    .filter(|counted| counted.id == bundle.id)
                    .map_or(0, |counted| counted.starts),
            }
        };
        Candidates {
            image,
            wanted: self.wanted.as_ref().map(installed),
            proven: self.proven.as_ref().map(installed),
        }
    }
}
